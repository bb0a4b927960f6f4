package import Vocabulary

/// The campaigns on the status page.
package struct StatusCampaigns: Hashable, Sendable {
    /// A campaign as far as this process knows it.
    package struct Campaign: Hashable, Sendable {
        package var name: CampaignName
        /// Nil: it has none, and runs.
        package var order: CampaignOrder?
        /// The time of the order's record.
        package var writtenAt: Timestamp?
        package var counts: Counts
        /// The outcomes of the last seconds, per second; nil: not known yet.
        package var outcomesPerSecond: Double?

        package init(
            name: CampaignName,
            order: CampaignOrder?,
            writtenAt: Timestamp?,
            counts: Counts,
            outcomesPerSecond: Double?
        ) {
            self.name = name
            self.order = order
            self.writtenAt = writtenAt
            self.counts = counts
            self.outcomesPerSecond = outcomesPerSecond
        }
    }

    /// What a process counts of a campaign; each recipient counts.
    package struct Counts: Hashable, Sendable {
        /// Of events whose outcomes Kafka has acknowledged.
        package var outcomes: OutcomeCounts
        /// Events in memory that are on their way to their outcomes.
        package var inFlight: Int
        /// Events in memory that wait until the campaign may send, or for a place.
        package var waiting: Int

        package init(outcomes: OutcomeCounts = OutcomeCounts(), inFlight: Int = 0, waiting: Int = 0)
        {
            self.outcomes = outcomes
            self.inFlight = inFlight
            self.waiting = waiting
        }

        package static func += (left: inout Counts, right: Counts) {
            left.outcomes += right.outcomes
            left.inFlight += right.inFlight
            left.waiting += right.waiting
        }
    }

    /// The most campaigns that are shown.
    package static let maxShown = 20

    /// The busiest ones, then those with the newest orders.
    package private(set) var shown: [Campaign]
    /// How many more the process knows.
    package private(set) var otherCount: Int
    /// The orders are those in effect at this time.
    let now: Timestamp
    /// Whether visitors with the token can order something.
    let allowsOrders: Bool

    package init(_ known: [Campaign] = [], allowsOrders: Bool = false, now: Timestamp) {
        shown = Array(known.sorted { $0.precedes($1) }.prefix(Self.maxShown))
        otherCount = known.count - shown.count
        self.now = now
        self.allowsOrders = allowsOrders
    }
}

extension StatusCampaigns.Campaign {
    fileprivate func precedes(_ other: StatusCampaigns.Campaign) -> Bool {
        let key = (activity, writtenAt?.milliseconds ?? .min, counts.outcomes.total)
        let otherKey = (
            other.activity, other.writtenAt?.milliseconds ?? .min, other.counts.outcomes.total
        )
        return key == otherKey ? name < other.name : key > otherKey
    }

    /// How much of it moves, or waits, here and now.
    private var activity: Double {
        Double(counts.inFlight + counts.waiting) + (outcomesPerSecond ?? 0)
    }
}

/// The totals of each campaign in the last seconds.
///
/// Pure, like `StatusHistory`.
package struct CampaignRates: Hashable, Sendable {
    private struct Reading: Hashable, Sendable {
        let uptimeMilliseconds: Int64
        let totals: [CampaignName: Int]
    }

    /// A rate over a shorter time would jump.
    private static let minMilliseconds: Int64 = 2000

    /// Oldest first.
    private var readings: [Reading] = []

    package init() {}

    /// Adds a reading; call it every `StatusHistory.interval`.
    package mutating func record(_ totals: [CampaignName: Int], uptimeMilliseconds: Int64) {
        if let last = readings.last, uptimeMilliseconds <= last.uptimeMilliseconds { return }
        readings.append(Reading(uptimeMilliseconds: uptimeMilliseconds, totals: totals))
        if readings.count > 2 { readings.removeFirst() }
    }

    /// Outcomes per second over the last 2 to 7 seconds.
    ///
    /// - Returns: nil in the first seconds.
    package func rate(
        of campaign: CampaignName,
        total: Int,
        uptimeMilliseconds: Int64
    ) -> Double? {
        let first = readings.last {
            $0.uptimeMilliseconds <= uptimeMilliseconds - Self.minMilliseconds
        }
        guard let first else { return nil }
        // Counts are forgotten an hour after the last outcome, or to make room.
        let difference = max(0, total - (first.totals[campaign] ?? 0))
        return Double(difference) * 1000 / Double(uptimeMilliseconds - first.uptimeMilliseconds)
    }
}
