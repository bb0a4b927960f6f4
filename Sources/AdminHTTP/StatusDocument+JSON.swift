import JSON
import Telemetry
import Vocabulary

extension StatusDocument {
    /// The document as JSON.
    ///
    /// `metrics` maps each family's name, without the prefix, to its samples; a sample consists of
    /// its labels and a `value`. Histograms have only `_sum` and `_count`: `history` contains their
    /// percentiles.
    package var utf8: [UInt8] {
        let metrics = families.map { family in
            let samples = family.samples.filter { $0.suffix != "_bucket" }.map(Self.json)
            return "\(family.name.json):\(Self.list(samples))"
        }
        let text = """
            {"version":\(version.json),"state":\(state.json),\
            "uptime_seconds":\(uptimeSeconds),"readiness":\(readiness.json),\
            "reasons":\(Self.list(reasons.map(\.json))),\
            "campaigns":\(campaigns.json),\
            "history":\(history.json),\
            "configuration":\(Self.list(configuration.map(\.json))),\
            "metrics":{\(metrics.joined(separator: ","))}}
            """
        return Array(text.utf8)
    }

    private static func json(_ sample: MetricFamily.Sample) -> String {
        var members = sample.labels.map { "\($0.name.json):\($0.value.json)" }
        if !sample.suffix.isEmpty {
            members.append("\"sample\":\(String(sample.suffix.dropFirst()).json)")
        }
        // Prometheus' numbers may be ones that JSON cannot represent.
        let value = Double(sample.value)?.isFinite == true ? sample.value : "null"
        members.append("\"value\":\(value)")
        return "{\(members.joined(separator: ","))}"
    }

    fileprivate static func list(_ elements: [String]) -> String {
        "[\(elements.joined(separator: ","))]"
    }
}

extension StatusDocument.ExplainedReason {
    fileprivate var json: String {
        """
        {"reason":\(count.reason.json),\
        "decided_by":\(count.decidedBy.json),\
        "outcomes":\(count.outcomes.json),"refusals":\(count.refusals.json),\
        "last_seen_seconds":\(count.lastSeenSeconds.map { "\($0)" } ?? "null"),\
        "meaning":\(meaning.json),"remedy":\(remedy.json)}
        """
    }
}

extension StatusReasonCount.Count {
    fileprivate var json: String { "{\"recent\":\(recent),\"total\":\(total)}" }
}

extension StatusDocument.Setting {
    fileprivate var json: String {
        "{\"key\":\(key.json),\"value\":\(value.json)}"
    }
}

extension StatusCampaigns {
    /// `order` is the record's value; `holds` is what it demands now.
    fileprivate var json: String {
        let shown = shown.map { $0.json(at: now) }
        return """
            {"allows_orders":\(allowsOrders),"shown":\(StatusDocument.list(shown)),\
            "others":\(otherCount)}
            """
    }
}

extension StatusCampaigns.Campaign {
    fileprivate func json(at now: Timestamp) -> String {
        let effect = (order ?? CampaignOrder(.running)).effect(at: now)
        let outcomes = OutcomeKind.allCases.map { kind in
            "\(kind.rawValue.json):\(counts.outcomes[kind])"
        }
        return """
            {"campaign":\(name.description.json),"holds":\(effect.word.json),\
            "order":\(order?.json ?? "null"),\
            "written_at_seconds":\(writtenAt.map { "\($0.seconds)" } ?? "null"),\
            "sent":\(counts.outcomes.sent),\
            "outcomes":{\(outcomes.joined(separator: ","))},\
            "outcomes_per_second":\(StatusHistory.number(outcomesPerSecond)),\
            "in_flight":\(counts.inFlight),"waiting":\(counts.waiting)}
            """
    }
}

extension CampaignOrder {
    fileprivate var json: String {
        """
        {"state":\(state.rawValue.json),"per_second":\(StatusHistory.number(perSecond)),\
        "until":\(until.map { "\($0.seconds)" } ?? "null")}
        """
    }
}

extension StatusHistory {
    /// Columns of equal length, oldest first; `null` if there is no number.
    var json: String {
        """
        {"interval_seconds":\(Self.interval),"point_count":\(Self.pointCount),\
        "at_seconds":[\(seconds.map { Self.number($0) }.joined(separator: ","))],\
        "outcomes_per_second":\(Self.object(outcomeRates)),\
        "per_second":\(Self.object(rates)),"levels":\(Self.object(levels)),\
        "apns_seconds":\(Self.object(percentiles(.apns))),\
        "end_to_end_seconds":\(Self.object(percentiles(.endToEnd)))}
        """
    }

    /// Leaves out columns without any number.
    private static func object(_ columns: [Column]) -> String {
        let members = columns.filter { $0.values.contains { $0 != nil } }.map { column in
            let values = column.values.map { number($0) }.joined(separator: ",")
            return "\(column.name.json):[\(values)]"
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// At most four decimals, so that 15 minutes of data stay small.
    fileprivate static func number(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "null" }
        let rounded = (value * 10_000).rounded() / 10_000
        return rounded == rounded.rounded() && abs(rounded) < 1e15
            ? "\(Int64(rounded))" : "\(rounded)"
    }
}

extension String {
    /// The text as a JSON string.
    var json: String {
        var writer = JSONWriter()
        writer.string(self)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
