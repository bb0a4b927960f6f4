import AdminHTTP
import Delivery
import Shard
import SystemIO
import Vocabulary

/// What the process knows of campaigns, read on request for the status page.
struct CampaignReadings: Sendable {
    let controls: [ShardControl]
    /// Nil: there are no orders.
    let reader: CampaignReader?
    /// Whether the admin port has a token, without which nobody may order anything.
    let hasToken: @Sendable () -> Bool

    /// The counts of all shards together.
    var counts: [CampaignName: StatusCampaigns.Counts] {
        var counts: [CampaignName: StatusCampaigns.Counts] = [:]
        for control in controls {
            for one in control.status.campaigns {
                counts[one.campaign, default: StatusCampaigns.Counts()] += StatusCampaigns.Counts(
                    outcomes: one.counts,
                    inFlight: one.inFlight,
                    waiting: one.waiting
                )
            }
        }
        return counts
    }

    /// Reads the table: campaigns with an order, or with outcomes or events in this process.
    ///
    /// `rate` returns the recent outcomes per second of a campaign with that many in total; nil:
    /// they are not known yet.
    func table(_ rate: (CampaignName, Int) -> Double?) -> StatusCampaigns {
        let counts = counts
        let orders = reader?.orders ?? CampaignOrders()
        let names = Set(counts.keys).union(orders.names)
        let known = names.map { name in
            let counts = counts[name] ?? StatusCampaigns.Counts()
            return StatusCampaigns.Campaign(
                name: name,
                order: orders[name],
                writtenAt: orders.writtenAt(name),
                counts: counts,
                outcomesPerSecond: rate(name, counts.outcomes.total)
            )
        }
        return StatusCampaigns(
            known,
            allowsOrders: reader != nil && hasToken(),
            now: SystemClock.wallClock
        )
    }
}
