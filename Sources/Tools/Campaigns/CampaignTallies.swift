package import EventCodec
package import Vocabulary

/// The records of the tally topic, summed for each campaign.
package struct CampaignTallies: Sendable {
    /// The newest record of each key.
    private var records: [[UInt8]: CampaignTallyRecord] = [:]

    package init() {}

    /// Takes a record of the topic, in the order of its partition.
    ///
    /// Of two records with one key, the one with more outcomes counts, because counts only grow. So
    /// it does not matter if partitions were added, and the key moved to another one.
    package mutating func take(_ record: Record) throws(CampaignTallyRecord.Flaw) {
        guard let key = record.key else { throw .init(description: "has no key") }
        guard let value = record.value else {
            records[key] = nil
            return
        }
        let new = try CampaignTallyRecord(parsing: value)
        if let old = records[key], old.counts.total > new.counts.total { return }
        records[key] = new
    }

    /// The sums over all partitions and owners.
    package var sums: [CampaignName: OutcomeCounts] {
        records.values.reduce(into: [:]) { $0[$1.campaign, default: OutcomeCounts()] += $1.counts }
    }
}
