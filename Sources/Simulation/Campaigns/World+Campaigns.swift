import Delivery
import Vocabulary

/// Campaigns, and what upstream orders for them.
struct SimulatedCampaigns {
    /// Apart from the others, so that these are those of a world without campaigns.
    fileprivate var dice: Dice
    /// None in half of the runs.
    let count: Int
    fileprivate let orderInterval: Duration
    /// The current orders; members learn of them later.
    fileprivate var orders = CampaignOrders()

    init(seed: UInt64) {
        var dice = Dice(seed: seed &* 0x9E37_79B9)
        count = dice.element([0, 0, 0, 1, 3, 8])
        orderInterval = dice.element([.seconds(5), .seconds(40), .seconds(200)])
        self.dice = dice
    }

    /// The campaign of a new event, if it has one.
    mutating func draw() -> UInt8? {
        count > 0 && dice.comesUp(0.4) ? UInt8(dice.number(below: count)) : nil
    }

    static func name(_ campaign: UInt8) -> CampaignName? { CampaignName("campaign \(campaign)") }
}

extension World {
    /// An event's campaign; recipients have that of their record.
    func campaign(of event: Int32) -> CampaignName? {
        events[Int(head(of: event))].campaign.flatMap(SimulatedCampaigns.name)
    }

    mutating func planNextOrder() {
        guard campaigns.count > 0, areFaultsOn else { return }
        after(campaigns.dice.wait(mean: campaigns.orderInterval), .campaignOrdered)
    }

    mutating func campaignOrdered() {
        planNextOrder()
        guard areFaultsOn else { return }
        let order: CampaignOrder? =
            switch campaigns.dice.number(below: 8) {
            case 0, 1: CampaignOrder(.paused)
            case 2: CampaignOrder(.cancelled)
            case 3: CampaignOrder(.running, perSecond: campaigns.dice.element([0.05, 1, 20]))
            default: nil
            }
        coverage.note(.campaignOrdered)
        give(order, to: UInt8(campaigns.dice.number(below: campaigns.count)))
        for member in members { after(campaigns.dice.seconds(0...2), .ordersRead(member.id)) }
    }

    private mutating func give(_ order: CampaignOrder?, to campaign: UInt8) {
        guard let name = SimulatedCampaigns.name(campaign) else { return }
        _ = campaigns.orders.set(order, for: name, writtenAt: timestamp)
    }

    /// All campaigns run again, so that everything drains.
    mutating func ordersEnd() {
        guard campaigns.count > 0 else { return }
        for campaign in 0..<UInt8(campaigns.count) { give(nil, to: campaign) }
        for member in members { after(.zero, .ordersRead(member.id)) }
    }

    mutating func ordersRead(_ id: MemberID) {
        if let member = member(id) { obey(member) }
    }

    /// The member knows all current orders.
    mutating func obey(_ member: Member) {
        guard campaigns.count > 0 else { return }
        member.orders = campaigns.orders
        shareOut(to: member)
        wake(member)
    }

    /// Gives the member its part of each pace, which is that of its partitions.
    func shareOut(to member: Member) {
        guard campaigns.count > 0 else { return }
        let own = max(1, member.engine.lend { $0.assignedPartitions.count })
        let share = Double(own) / Double(kafka.partitions.count)
        notePaces(share: share, of: member)
        member.engine.campaignsOrdered(member.orders, share: share, now: moment)
    }

    // MARK: Checks

    /// Checks that nothing is sent of a campaign that the member knows to be paused or cancelled.
    mutating func checkCampaign(of event: Int32, by member: Member) {
        guard let name = campaign(of: event) else { return }
        switch member.orders.effect(on: name, at: timestamp) {
        case .running, .paced: break
        case .paused, .cancelled: found(.campaignIsObeyed, "event \(event) is sent")
        }
    }

    /// Checks that an event ends `cancelled` only if its campaign is.
    mutating func checkCancellation(of event: Int32, by member: Member) {
        let orders = member.ordersOfTurn
        guard let name = campaign(of: event),
            orders.contains(where: { $0[name]?.state == .cancelled })
        else {
            return found(.campaignIsObeyed, "event \(event) is cancelled without an order")
        }
    }
}
