import EventCodec
import JSON
import SystemIO
package import Vocabulary

/// A campaign's order, and when it was written.
package struct CampaignEntry: Hashable, Sendable {
    package let campaign: CampaignName
    /// Nil: the campaign has none, and runs.
    package let order: CampaignOrder?
    /// The time of the order's record, if it has one.
    package let writtenAt: Timestamp?
    /// Its counts in the tally topic; nil: there is no such topic.
    package var counts: CampaignCounts?

    package init(_ campaign: CampaignName, _ order: CampaignOrder?, writtenAt: Timestamp? = nil) {
        self.campaign = campaign
        self.order = order
        self.writtenAt = writtenAt
    }

    /// The current order, in a few words.
    package var holding: String { holding(at: SystemClock.wallClock) }

    /// Time, campaign, current order, and its outcomes if they are known, for people; `-` for an
    /// unknown time.
    package var line: String {
        let columns = [writtenAt?.rfc3339Text ?? "-", campaign.description, holding]
        let outcomes = counts.map { $0.total == 1 ? ["1 outcome"] : ["\($0.total) outcomes"] }
        return (columns + (outcomes ?? [])).joined(separator: "  ")
    }

    /// The same as a JSON object on one line.
    package var json: String { json(at: SystemClock.wallClock) }

    /// The order in effect at a time; if its end has come, since when.
    package func holding(at now: Timestamp) -> String {
        guard let order else { return CampaignOrder(.running).summary }
        guard let until = order.until, until <= now else { return order.summary }
        let pace = order.state == .paused ? order.perSecond : nil
        return "\(CampaignOrder(.running, perSecond: pace).summary) since \(until.rfc3339Text)"
    }

    package func json(at now: Timestamp) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        write(at: now, &writer)
        counts?.write(&writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Writes the members of an open object: the order as in its record, and its effect.
    func write(at now: Timestamp, _ writer: inout JSONWriter) {
        writer.name("campaign")
        writer.string(campaign.description)
        writer.name("holds")
        writer.string((order ?? CampaignOrder(.running)).effect(at: now).word)
        writer.name("order")
        if let order { writer.raw(order.value) } else { writer.null() }
        writer.name("written_at")
        writer.string(writtenAt?.rfc3339Text)
    }
}
