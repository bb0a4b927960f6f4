extension Metrics {
    /// Metrics about pools, breakers and parking, with one sample for each route or credential.
    var routeFamilies: [MetricFamily] {
        [
            states(
                "apns_connections",
                "Connections to APNs, by state; proving: one stream until APNs accepts the token.",
                \.connectionCounts
            ),
            perRoute("apns_streams", "Open streams to APNs.", \.streams),
            perRoute(
                "apns_streams_limit",
                "Streams that APNs allows on the usable connections.",
                \.streamsLimit
            ),
            perRoute("apns_waiting_events", "Events that wait for a stream.", \.waiting),
            states(
                "apns_breakers",
                "Shards whose circuit breaker is in this state.",
                \.breakerCounts
            ),
            .gauges(
                "apns_credentials_parked",
                "Shards that do not use the credential because APNs refused it. Alert on it.",
                of: shards,
                labels: lists.credentials.map { [.init("credential", $0)] }
            ) { $0.parkedCredentials[$1].value },
            perRoute(
                "token_fuse_blown",
                "Shards with a blown token fuse: APNs refused too many tokens at once; delete none."
                    + " Alert on it.",
                \.blownTokenFuse
            ),
        ]
    }

    private func perRoute(
        _ name: String,
        _ help: String,
        _ gauge: (RouteMetrics) -> Gauge
    ) -> MetricFamily {
        .gauges(name, help, of: shards, labels: lists.routes.map(\.labels)) {
            gauge($0.routes[$1]).value
        }
    }

    /// A family with one sample for each combination of route and state.
    private func states(
        _ name: String,
        _ help: String,
        _ counts: (RouteMetrics) -> [(label: String, count: Int)]
    ) -> MetricFamily {
        var family = MetricFamily(name: name, help: help, kind: .gauge, samples: [])
        for (index, route) in lists.routes.enumerated() {
            let perShard = shards.map { counts($0.routes[index]) }
            for (place, state) in (perShard.first ?? []).enumerated() {
                let sum = perShard.reduce(0) { $0 + $1[place].count }
                family.samples.append(
                    .init(labels: route.labels + [.init("state", state.label)], value: "\(sum)")
                )
            }
        }
        return family
    }
}
