import JSON
import JSONSchema
public import Vocabulary

/// Why the value of a record is not an order.
public struct CampaignOrderError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String
}

extension CampaignOrder {
    private static let schema = EmbeddedSchema.campaignOrderV1.compiled()
    /// Well above what any order needs.
    private static let limits = JSONLimits(maxByteCount: 64 << 10)

    /// Parses a record's value, according to `schemas/campaign-order.v1`.
    ///
    /// - Throws: What is wrong; the text names members, but never contains their strings.
    public init(parsing value: [UInt8]) throws(CampaignOrderError) {
        var document = JSONDocument(limits: Self.limits)
        do {
            try document.parse(value)
        } catch {
            throw CampaignOrderError(description: "\(error)")
        }
        let root = document.root
        if let repeated = document.repeatedMember(in: root) {
            let place = document.pointer(to: repeated)
            throw CampaignOrderError(description: "\(place): \(FindingReport.repeatedName)")
        }
        if let finding = Self.schema.findings(in: document, root).first {
            let place = finding.instanceLocation
            throw CampaignOrderError(
                description: (place.isEmpty ? "" : "\(place): ") + finding.message
                    + Self.hint(place, document)
            )
        }
        let text = document.member(of: root, named: Self.stateName).flatMap { document.string($0) }
        guard let state = text.flatMap(State.init) else {
            preconditionFailure("the schema allows another state")
        }
        self.init(
            state,
            perSecond: document.member(of: root, named: Self.perSecondName)
                .flatMap { document.double($0) },
            until: document.member(of: root, named: Self.untilName).flatMap { document.integer($0) }
                .map { Timestamp(milliseconds: $0 * 1000) }
        )
    }

    /// What to do instead of giving a campaign no pace at all.
    private static func hint(_ place: String, _ document: JSONDocument) -> String {
        guard place == "/per_second",
            let rate = document.member(of: document.root, named: perSecondName)
                .flatMap({ document.double($0) }), rate < rates.lowerBound
        else { return "" }
        return "; to send nothing, pause the campaign"
    }

    /// The order in a few words, such as `running at 500/s until 2026-01-31T12:00:00.000Z`.
    public var summary: String {
        let rate = perSecond.map { "\(Self.text($0))/s" }
        let end = until.map { " until \($0.rfc3339Text)" } ?? ""
        switch state {
        case .running: return (rate.map { "running at \($0)" } ?? "running") + end
        case .paused: return "paused" + end + (rate.map { ", then at \($0)" } ?? "")
        case .cancelled: return "cancelled"
        }
    }

    /// Without a fraction, if the rate has none.
    private static func text(_ rate: Double) -> String {
        rate == rate.rounded() ? "\(Int64(rate))" : "\(rate)"
    }

    private static let stateName = JSONName("state")
    private static let perSecondName = JSONName("per_second")
    private static let untilName = JSONName("until")

    /// The value of a record with this order.
    public var value: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("state", plain: state.rawValue)
        writer.name(plain: "per_second")
        if let perSecond { writer.raw(Self.text(perSecond).utf8) } else { writer.null() }
        writer.name(plain: "until")
        if let until { writer.integer(until.seconds) } else { writer.null() }
        writer.endObject()
        return writer.bytes
    }
}
