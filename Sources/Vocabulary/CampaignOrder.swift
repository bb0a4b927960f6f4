/// What an operator has ordered for a campaign: the value of a record of `campaigns.topic`.
public struct CampaignOrder: Hashable, Sendable {
    public enum State: String, Hashable, Sendable, CaseIterable {
        case running
        /// Nothing is sent, until the campaign runs again.
        case paused
        /// Nothing is sent anymore; what was not sent ends `cancelled`.
        case cancelled
    }

    /// What an order demands at one time.
    public enum Effect: Hashable, Sendable {
        /// Events are sent as if they had no campaign.
        case running
        /// Over all processes, at most this many notifications a second.
        case paced(perSecond: Double)
        /// Nil: until another order comes.
        case paused(until: Timestamp?)
        case cancelled

        /// The effect without its numbers, as in JSON output.
        public var word: String {
            switch self {
            case .running: "running"
            case .paced: "paced"
            case .paused: "paused"
            case .cancelled: "cancelled"
            }
        }
    }

    public var state: State
    /// Notifications a second over all processes, within `rates`; nil: as fast as possible.
    ///
    /// A paused campaign keeps it for when it runs again.
    public var perSecond: Double?
    /// When a pause or a pace ends, in whole seconds; nil: with the next order.
    public var until: Timestamp?

    /// Slower than one notification in 1000 seconds is a pause.
    public static let rates = 0.001...1_000_000

    public init(_ state: State, perSecond: Double? = nil, until: Timestamp? = nil) {
        self.state = state
        self.perSecond = perSecond
        self.until = until
    }

    /// What the order demands at a time; from `until` on, that pause or pace is over.
    public func effect(at now: Timestamp) -> Effect {
        effect(isOver: until.map { $0 <= now } ?? false)
    }

    /// What the order demands, before or after its pause or pace has ended.
    public func effect(isOver: Bool) -> Effect {
        switch state {
        case .cancelled: return .cancelled
        case .paused: return isOver ? pace : .paused(until: until)
        case .running: return isOver ? .running : pace
        }
    }

    private var pace: Effect {
        perSecond.map { .paced(perSecond: $0) } ?? .running
    }
}
