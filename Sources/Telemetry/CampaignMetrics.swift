public import Vocabulary

/// A process's metrics about the orders of campaigns, written by the reader's thread.
public final class CampaignMetrics: Sendable {
    public let recordsRead = Counter()
    public let malformedRecords = Counter()
    /// Orders that there was no room for.
    public let forgottenOrders = Counter()
    private let counts: @Sendable () -> [CampaignOrder.State: Int]

    /// - Parameter counts: Returns how many orders have each state now.
    public init(counts: @escaping @Sendable () -> [CampaignOrder.State: Int] = { [:] }) {
        self.counts = counts
    }

    var families: [MetricFamily] {
        let counts = counts()
        return [
            MetricFamily(
                name: "campaign_orders",
                help: "Campaigns with an order, by its state.",
                kind: .gauge,
                samples: CampaignOrder.State.allCases.map { state in
                    MetricFamily.Sample(
                        labels: [.init("state", state.rawValue)],
                        value: "\(counts[state] ?? 0)"
                    )
                }
            ),
            .counter(
                "campaign_orders_read_total",
                "Records read from the campaigns' topic.",
                recordsRead
            ),
            .counter(
                "campaign_orders_malformed_total",
                "Records of the campaigns' topic that are not valid; the order before them stays in"
                    + " effect.",
                malformedRecords
            ),
            .counter(
                "campaign_orders_forgotten_total",
                "Orders forgotten because too many campaigns have one.",
                forgottenOrders
            ),
        ]
    }
}
