/// What an operator changes about a campaign; everything else of its order stays.
public enum CampaignChange: Hashable, Sendable {
    /// Nil: until the campaign is resumed.
    case pause(until: Timestamp?)
    /// Also a campaign that is cancelled, if so confirmed.
    case resume(isConfirmed: Bool)
    case cancel
    /// Nil: as fast as possible, or until another order comes.
    case pace(perSecond: Double?, until: Timestamp?)

    /// Why a change is not possible.
    public enum Refusal: Error, Hashable, Sendable {
        /// A cancelled campaign is neither paused nor paced.
        case isCancelled
        /// A cancelled campaign runs again only if that is confirmed.
        case isUnconfirmed
        /// The campaign is paused, and the end of its pace would end the pause.
        case endsPause
    }

    /// The campaign's next order; nil: it needs none.
    ///
    /// A pause or pace that is over counts as if it had never been. Pause and resume keep the pace,
    /// but not its end: an order has only one.
    public func order(after old: CampaignOrder?, now: Timestamp) throws(Refusal) -> CampaignOrder? {
        let effect = (old ?? CampaignOrder(.running)).effect(at: now)
        if case .cancelled = effect {
            switch self {
            case .cancel: return old
            case .resume(isConfirmed: true): return nil
            case .resume(isConfirmed: false): throw .isUnconfirmed
            case .pause, .pace: throw .isCancelled
            }
        }
        let pace = pace(of: effect, old)
        switch self {
        case .pause(let until): return CampaignOrder(.paused, perSecond: pace, until: until)
        case .resume:
            if case .paced = effect { return old }
            return pace.map { CampaignOrder(.running, perSecond: $0) }
        case .cancel: return CampaignOrder(.cancelled)
        case .pace(let perSecond, let until):
            if case .paused(let end) = effect {
                guard until == nil else { throw .endsPause }
                return CampaignOrder(.paused, perSecond: perSecond, until: end)
            }
            return perSecond.map { CampaignOrder(.running, perSecond: $0, until: until) }
        }
    }

    /// The current pace, or the one that a paused campaign keeps.
    private func pace(of effect: CampaignOrder.Effect, _ order: CampaignOrder?) -> Double? {
        switch effect {
        case .paced(let perSecond): perSecond
        case .paused: order?.perSecond
        case .running, .cancelled: nil
        }
    }
}
