import EventCodec
import JSON
package import Vocabulary

/// The outcomes of one campaign, as counted in the results topic or as the tally topic has them.
package struct CampaignCounts: Hashable, Sendable {
    package private(set) var outcomes: [OutcomeKind: Int] = [:]
    /// Events for which at least one request was sent; nil: not known, because the results topic
    /// was counted.
    package private(set) var sent: Int?
    /// How many records of the topic were read, of any campaign.
    package private(set) var recordCount = 0
    /// Whether the topic was read to its end.
    package internal(set) var isComplete = false

    package init() {}

    /// Makes the counts of a campaign that the tally topic has.
    init(tally: OutcomeCounts) {
        sent = tally.sent
        for kind in OutcomeKind.allCases where tally[kind] > 0 { outcomes[kind] = tally[kind] }
        isComplete = true
    }

    package var total: Int { outcomes.values.reduce(0, +) }

    /// Counts a record of the results topic, if it is an outcome of the campaign.
    package mutating func count(_ value: [UInt8]?, of campaign: CampaignName) {
        recordCount += 1
        // Most records are of other campaigns; a document that is only searched is cheap.
        var document = JSONDocument()
        guard let value, (try? document.parse(value)) != nil,
            let name = document.member(of: document.root, named: Self.campaign), name.isString,
            document.content(of: name).elementsEqual(campaign.utf8),
            let outcome = document.member(of: document.root, named: Self.outcome)
                .flatMap({ document.string($0) }),
            let kind = OutcomeKind(rawValue: outcome)
        else { return }
        outcomes[kind, default: 0] += 1
    }

    private static let campaign = JSONName("campaign")
    private static let outcome = JSONName("outcome")

    /// Writes members of an open object: `sent`, and `outcomes` with every kind.
    func write(_ writer: inout JSONWriter) {
        writer.name("sent")
        if let sent { writer.integer(Int64(sent)) } else { writer.null() }
        writer.name("outcomes")
        writer.beginObject()
        for kind in OutcomeKind.allCases {
            writer.name(kind.rawValue)
            writer.integer(Int64(outcomes[kind] ?? 0))
        }
        writer.endObject()
    }
}

/// What `heliograph campaigns show` prints.
package struct CampaignReport: Sendable {
    package let entry: CampaignEntry
    package let counts: CampaignCounts
    private let now: Timestamp

    init(_ entry: CampaignEntry, _ counts: CampaignCounts, now: Timestamp) {
        self.entry = entry
        self.counts = counts
        self.now = now
    }

    /// One fact a line, in two columns; without outcomes that did not occur.
    package var text: String {
        var rows = [
            ("campaign", entry.campaign.description), ("holds", entry.holding(at: now)),
            ("written", entry.writtenAt?.rfc3339Text ?? "-"),
        ]
        if let sent = counts.sent { rows.append(("sent", "\(sent)")) }
        rows.append(("outcomes", "\(counts.total)"))
        for kind in OutcomeKind.allCases {
            if let count = counts.outcomes[kind] { rows.append((kind.rawValue, "\(count)")) }
        }
        let width = (rows.map(\.0.count).max() ?? 0) + 2
        return rows.map { name, value in
            name + String(repeating: " ", count: width - name.count) + value
        }.joined(separator: "\n")
    }

    /// The same as a JSON object on one line, with every kind of outcome.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        entry.write(at: now, &writer)
        counts.write(&writer)
        writer.name("complete")
        writer.bool(counts.isComplete)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
