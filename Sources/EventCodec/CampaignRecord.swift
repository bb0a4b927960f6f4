public import Vocabulary

/// A record of the campaigns' topic; see `schemas/campaign-order.v1.schema.json`.
public struct CampaignRecord: Hashable, Sendable {
    public let campaign: CampaignName
    /// Nil: a tombstone, which withdraws the campaign's order.
    public let order: CampaignOrder?

    /// - Throws: What is wrong with the record's key or value.
    public init(_ record: Record) throws(CampaignOrderError) {
        guard let key = record.key else {
            throw CampaignOrderError(description: "has no key; the key is the campaign's name")
        }
        guard let campaign = CampaignName(utf8: key) else {
            throw CampaignOrderError(
                description: "the key is not a campaign's name: 1 to"
                    + " \(CampaignName.maxCharacterCount) characters in UTF-8, no control characters"
            )
        }
        self.campaign = campaign
        order = try record.value.map { value throws(CampaignOrderError) in
            try CampaignOrder(parsing: value)
        }
    }
}
