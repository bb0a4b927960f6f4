/// The order of each campaign that has one.
///
/// A value, so that a reader can change its own and give each shard the newest one.
public struct CampaignOrders: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        let order: CampaignOrder
        let writtenAt: Timestamp
    }

    /// The most campaigns with an order; each takes about 100 bytes.
    public static let maxCount = 10_000
    /// How many of the oldest orders are forgotten at once, if there would be more.
    public static let forgottenAtOnce = 1_000

    private var entries: [CampaignName: Entry] = [:]

    public init() {}

    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }

    /// How many orders have each state.
    ///
    /// A pause that is over at that time counts as running.
    public func counts(at now: Timestamp) -> [CampaignOrder.State: Int] {
        entries.values.reduce(into: [:]) { counts, entry in
            switch entry.order.effect(at: now) {
            case .running, .paced: counts[.running, default: 0] += 1
            case .paused: counts[.paused, default: 0] += 1
            case .cancelled: counts[.cancelled, default: 0] += 1
            }
        }
    }

    /// The campaigns with an order, sorted by name.
    public var names: [CampaignName] { entries.keys.sorted() }

    /// A campaign's order; nil: it has none, and its events are sent as any others.
    public subscript(name: CampaignName) -> CampaignOrder? { entries[name]?.order }

    /// The time of the record with a campaign's order; nil: it has none.
    public func writtenAt(_ name: CampaignName) -> Timestamp? { entries[name]?.writtenAt }

    /// The effect on a campaign at a time.
    public func effect(on name: CampaignName, at now: Timestamp) -> CampaignOrder.Effect {
        entries[name]?.order.effect(at: now) ?? .running
    }

    /// Replaces a campaign's order.
    ///
    /// If there would be more than `maxCount`, the oldest orders are forgotten, by the time when
    /// they were written: the newest is what an operator expects to hold.
    ///
    /// - Parameters:
    ///   - order: nil: the campaign has none anymore.
    ///   - name: The campaign.
    ///   - writtenAt: The time of the order's record.
    /// - Returns: The campaigns whose orders are forgotten, sorted by name; usually none.
    public mutating func set(
        _ order: CampaignOrder?,
        for name: CampaignName,
        writtenAt: Timestamp
    ) -> [CampaignName] {
        entries[name] = order.map { Entry(order: $0, writtenAt: writtenAt) }
        guard entries.count > Self.maxCount else { return [] }
        let byAge = entries.sorted { left, right in
            (left.value.writtenAt, left.key) < (right.value.writtenAt, right.key)
        }
        let forgotten = byAge.prefix(Self.forgottenAtOnce).map(\.key).filter { $0 != name }
        for name in forgotten { entries[name] = nil }
        return forgotten.sorted()
    }
}
