import APNsRules
import Vocabulary

/// What a shard knows about device tokens and notifications (decision 0014).
///
/// Which tokens are dead, which notifications were sent, and whether APNs' answers are credible.
struct Hygiene: Sendable {
    /// What to do with an event that could be sent.
    enum Judgment {
        case send
        /// Its token has been dead since that time.
        case suppress(since: Timestamp)
        /// The same notification is in flight or was accepted.
        case duplicate
    }

    private let settings: HygieneSettings
    /// What this turn's answers said about tokens; the process's list does not have it yet.
    private var spoken: [KeyedHash: Timestamp?] = [:]
    /// Tokens reported as dead that have deliveries in line.
    private var doubted: Set<KeyedHash> = []
    private var window: DedupWindow
    /// By route index; empty: no fuse is configured.
    private var fuses: [TokenFuse]

    init(_ settings: HygieneSettings, routeCount: Int) {
        self.settings = settings
        window = DedupWindow(size: settings.dedupWindow)
        fuses = settings.fuse.map { Array(repeating: TokenFuse($0), count: routeCount) } ?? []
    }

    // MARK: Before sending

    @inline(__always)
    func prefetch(_ names: DeliveryNames) { window.prefetch(names.notification) }

    /// When the token died, from this turn's answers or else from the process's list; nil: it is
    /// valid.
    func word(against token: KeyedHash, listed: Timestamp?) -> Timestamp? {
        spoken.isEmpty ? listed : spoken[token] ?? listed
    }

    /// An event arrived that could be sent.
    ///
    /// - Parameters:
    ///   - arrival: The event.
    ///   - names: The keys of its target and its notification.
    ///   - deadSince: When its token died, if it is reported as dead.
    ///   - hasLine: Whether other deliveries to its device are in flight.
    /// - Returns: what to do with it.
    mutating func arrived(
        _ arrival: Arrival,
        _ names: DeliveryNames,
        deadSince: Timestamp?,
        hasLine: Bool
    ) -> Judgment {
        // With others in line, wait: an earlier event may show that the token is valid.
        if let deadSince, !arrival.facts.isRegistered(after: deadSince), !hasLine {
            return .suppress(since: deadSince)
        }
        // An event from a retry topic is sent even if it repeats one: that one may belong to an
        // assignment that has ended, and is then released without an outcome.
        let isRepeated = window.arrived(names.notification, from: arrival.facts.place)
        return isRepeated && !arrival.facts.isRetry ? .duplicate : .send
    }

    /// Deliveries in line have a token that is reported as dead; the process's list may learn
    /// otherwise.
    mutating func doubt(_ token: KeyedHash) { doubted.insert(token) }

    /// The token's line is empty.
    mutating func lineEnded(_ token: KeyedHash) { doubted.remove(token) }

    var hasDoubts: Bool { !doubted.isEmpty }

    /// Tokens to look up in the process's list again, besides those.
    ///
    /// Leaves out what this turn's answers said, which the list does not have yet.
    func doubtfulTokens(besides others: [KeyedHash]) -> Set<KeyedHash> {
        doubted.union(others).subtracting(spoken.keys)
    }

    // MARK: The end

    /// An event has ended: updates what is known, and holds its token back while the fuse is blown.
    ///
    /// - Parameters:
    ///   - finding: How it ends; its token action becomes `hold` while the fuse is blown.
    ///   - arrival: The event.
    ///   - names: The keys of its target and its notification.
    ///   - deadSince: When its token died, if it is reported as dead.
    ///   - now: This turn's moment.
    /// - Returns: news for the process's list, in order.
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
            // A dead token stays listed as dead.
            if let deadSince, deadSince != SuppressionList.noted { return [] }
            return [said(names, SuppressionList.noted)]
        }
    }

    private mutating func said(_ names: DeliveryNames, _ deadSince: Timestamp?) -> TokenWord {
        spoken.updateValue(deadSince, forKey: names.target)
        return TokenWord(token: names.target, deadSince: deadSince)
    }

    /// A delivery left without an outcome: another process sends it, or this shard does later.
    mutating func released(_ arrival: Arrival) {
        guard let names = arrival.facts.names else { return }
        window.withdraw(names.notification, from: arrival.facts.place)
    }

    /// The process's list now has this turn's news.
    mutating func announced() {
        if !spoken.isEmpty { spoken.removeAll(keepingCapacity: true) }
    }

    // MARK: Queries

    /// The route's token fuse; nil: none is configured.
    func fuse(of route: Route) -> TokenFuse? { fuses.isEmpty ? nil : fuses[route.index] }
}

extension ArrivalFacts {
    @inline(__always)
    fileprivate var place: DedupWindow.Place {
        DedupWindow.Place(partition: partition, offset: offset)
    }
}
