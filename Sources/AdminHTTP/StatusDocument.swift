package import Telemetry

/// What `/status.json` says, and what the status page draws.
package struct StatusDocument: Sendable {
    package var version: String
    /// `starting`, `running` or `draining`.
    package var state: String
    package var uptimeSeconds: Int64
    package var readiness: Readiness
    package var families: [MetricFamily]

    package init(
        version: String,
        state: String,
        uptimeSeconds: Int64,
        readiness: Readiness,
        families: [MetricFamily]
    ) {
        self.version = version
        self.state = state
        self.uptimeSeconds = uptimeSeconds
        self.readiness = readiness
        self.families = families
    }

    /// The document as JSON.
    ///
    /// `metrics` maps each family's name, without prefix, to its samples; a sample is its labels
    /// and a `value`. Histograms have `_sum` and `_count` only.
    package var utf8: [UInt8] {
        let metrics = families.map { family in
            let samples = family.samples.filter { $0.suffix != "_bucket" }.map(Self.json)
            return "\(JSONText.quoted(family.name)):[\(samples.joined(separator: ","))]"
        }
        let text = """
            {"version":\(JSONText.quoted(version)),"state":\(JSONText.quoted(state)),\
            "uptime_seconds":\(uptimeSeconds),"readiness":\(readiness.json),\
            "metrics":{\(metrics.joined(separator: ","))}}
            """
        return Array(text.utf8)
    }

    private static func json(_ sample: MetricFamily.Sample) -> String {
        var members = sample.labels.map {
            "\(JSONText.quoted($0.name)):\(JSONText.quoted($0.value))"
        }
        if !sample.suffix.isEmpty {
            members.append("\"sample\":\(JSONText.quoted(String(sample.suffix.dropFirst())))")
        }
        members.append("\"value\":\(sample.value)")
        return "{\(members.joined(separator: ","))}"
    }
}
