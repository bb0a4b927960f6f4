import APNsRules
import Vocabulary

/// What a shard knows of device tokens and notifications: which tokens are dead, which
/// notifications were sent, and whether APNs is to be trusted (decision 0014).
struct Hygiene: Sendable {
    /// What is to become of an event that could be sent.
    enum Judgement {
        case send
        /// Its token is dead since then.
        case suppress(since: Timestamp)
        /// The same notification is in flight, or was accepted.
        case duplicate
    }

    private let settings: HygieneSettings
    /// The words of this turn, which the process's list has not heard yet.
    private var spoken: [KeyedHash: Timestamp?] = [:]
    /// Tokens with a word against them, and deliveries in their line.
    private var doubted: Set<KeyedHash> = []
    private var window: DedupWindow
    /// By the route's index; empty: no fuse.
    private var fuses: [TokenFuse]

    init(_ settings: HygieneSettings, routeCount: Int) {
        self.settings = settings
        window = DedupWindow(size: settings.dedupWindow)
        fuses = settings.fuse.map { Array(repeating: TokenFuse($0), count: routeCount) } ?? []
    }

    // MARK: Before sending

    @inline(__always)
    func prefetch(_ names: DeliveryNames) { window.prefetch(names.notification) }

    /// What is known against a token, when the process's list said that before this turn.
    func word(against token: KeyedHash, listed: Timestamp?) -> Timestamp? {
        spoken.isEmpty ? listed : spoken[token] ?? listed
    }

    /// An event arrived that could be sent.
    ///
    /// - Parameters:
    ///   - arrival: The event.
    ///   - names: Its names.
    ///   - deadSince: The word against its token.
    ///   - hasLine: Whether others of its device are in flight.
    /// - Returns: what becomes of it.
    mutating func arrived(
        _ arrival: Arrival,
        _ names: DeliveryNames,
        deadSince: Timestamp?,
        hasLine: Bool
    ) -> Judgement {
        // An event before it in the line may show that the token lives; then its turn decides.
        if let deadSince, !arrival.facts.isRegistered(after: deadSince), !hasLine {
            return .suppress(since: deadSince)
        }
        // What comes out of a retry topic is sent: what it repeats may be in flight of an
        // assignment that is gone, and is then handed back without an outcome.
        let isRepeated = window.arrived(names.notification, from: arrival.facts.place)
        return isRepeated && !arrival.facts.isRetry ? .duplicate : .send
    }

    /// There is a word against the token of deliveries in flight: the process's list may hear
    /// another.
    mutating func doubt(_ token: KeyedHash) { doubted.insert(token) }

    /// Nobody is left in the token's line.
    mutating func lineEnded(_ token: KeyedHash) { doubted.remove(token) }

    var hasDoubts: Bool { !doubted.isEmpty }

    /// Whose word the process's list may know better; not what was said in this turn, which the
    /// list has not heard yet.
    var doubtfulTokens: Set<KeyedHash> { doubted.subtracting(spoken.keys) }

    // MARK: The end

    /// An event has ended: draws the lessons, and holds its token back while the fuse is blown.
    ///
    /// - Parameters:
    ///   - finding: How it ends; says less of the token while the fuse is blown.
    ///   - arrival: The event.
    ///   - names: Its names.
    ///   - deadSince: The word against its token.
    ///   - now: This turn's moment.
    /// - Returns: words for the process's list, in order.
    mutating func ended(
        _ finding: inout Finding,
        _ arrival: Arrival,
        _ names: DeliveryNames,
        deadSince: Timestamp?,
        now: Moment
    ) -> [TokenWord] {
        if !finding.isAccepted { window.withdraw(names.notification, from: arrival.facts.place) }
        // No answer to a broadcast says anything about a token.
        guard case .apns = finding.decidedBy, !arrival.facts.isBroadcast,
            let route = arrival.facts.route
        else { return [] }
        let isCondemned = if case .keep = finding.tokenAction { false } else { true }
        if isCondemned || finding.isAccepted, !fuses.isEmpty {
            fuses[route.index].answered(isCondemned: isCondemned, now: now.instant)
            if isCondemned, fuses[route.index].isBlown { finding.tokenAction = .hold }
        }
        guard settings.suppressesUnregistered else { return [] }
        switch (finding.kind, finding.tokenAction) {
        case (.unregistered, .hold):
            return [said(names, nil), said(names, SuppressionList.noted)]
        case (.unregistered, _):
            return [said(names, finding.unregisteredAt ?? now.timestamp)]
        case (.accepted, _) where deadSince != nil:
            finding.isTokenReadmitted = true
            return [said(names, nil)]
        case (_, .keep):
            return []
        case (_, .remove), (_, .checkEnvironment), (_, .checkTopic), (_, .hold):
            return [said(names, SuppressionList.noted)]
        }
    }

    private mutating func said(_ names: DeliveryNames, _ deadSince: Timestamp?) -> TokenWord {
        spoken.updateValue(deadSince, forKey: names.target)
        return TokenWord(token: names.target, deadSince: deadSince)
    }

    /// A delivery left without an outcome: somebody else sends it, or this shard does later.
    mutating func released(_ arrival: Arrival) {
        guard let names = arrival.facts.names else { return }
        window.withdraw(names.notification, from: arrival.facts.place)
    }

    /// The process's list has heard every word.
    mutating func announced() {
        if !spoken.isEmpty { spoken.removeAll(keepingCapacity: true) }
    }

    // MARK: Queries

    /// The route's fuse; nil: the configuration has none.
    func fuse(of route: Route) -> TokenFuse? { fuses.isEmpty ? nil : fuses[route.index] }
}

extension ArrivalFacts {
    @inline(__always)
    fileprivate var place: DedupWindow.Place {
        DedupWindow.Place(partition: partition, offset: offset)
    }
}
