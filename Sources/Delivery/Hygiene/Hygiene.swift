import APNsRules
import Vocabulary

/// What a shard knows of device tokens and notifications: which tokens are dead, which
/// notifications were sent, and whether APNs is to be believed (decision 0014).
struct Hygiene: Sendable {
    /// What is to become of an event that could be sent.
    enum Judgement {
        case send
        /// Its token is dead since then.
        case suppress(since: Timestamp)
        /// The same notification is in hand, or was accepted.
        case duplicate
    }

    private static let fewest = 1024

    private let settings: HygieneSettings
    /// Tokens that died while this shard had events in hand: those did not find them in the list
    /// that the process shares, when they arrived.
    private var recentlyDead: SuppressionList
    /// Tokens of which the shared list has not been told the last word yet.
    private var unannounced: Set<KeyedHash> = []
    private var window: DedupWindow
    /// By the route's index; empty: no fuse.
    private var fuses: [TokenFuse]

    init(_ settings: HygieneSettings, maxEvents: Int, routeCount: Int) {
        self.settings = settings
        recentlyDead = SuppressionList(
            maxCount: settings.suppressesUnregistered ? max(maxEvents, Self.fewest) : 0
        )
        window = DedupWindow(size: settings.dedupWindow)
        fuses = settings.fuse.map { Array(repeating: TokenFuse($0), count: routeCount) } ?? []
    }

    // MARK: Before sending

    /// The names under which an event's device and notification stand in the tables.
    ///
    /// `unregisteredSince` is what the process's list has against a token.
    mutating func hashes(
        of arrival: Arrival,
        _ environment: APNsEnvironment,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) -> DeliveryHashes {
        let key = settings.hashKey
        switch arrival.content.target {
        case .device(let token):
            let (name, notification) = key.hashes(
                ofEvent: arrival.content.id,
                token,
                topic: arrival.topic,
                environment: environment
            )
            window.prefetch(notification)
            return DeliveryHashes(
                token: name,
                notification: notification,
                unregisteredAt: settings.suppressesUnregistered
                    ? deadSince(name, unregisteredSince) : nil
            )
        case .channel(let channel):
            return DeliveryHashes(
                token: key.hash(of: channel, environment: environment),
                notification: key.hash(ofEvent: arrival.content.id, channel)
            )
        }
    }

    /// An event arrived whose route is known; `hasLine`: others of its device are in hand.
    mutating func arrived(
        _ arrival: Arrival,
        _ names: DeliveryHashes,
        hasLine: Bool
    ) -> Judgement {
        // An event before it in the line may show that the token lives; then its turn decides.
        if let since = names.unregisteredAt, !arrival.content.isRegistered(after: since), !hasLine {
            return .suppress(since: since)
        }
        // What comes out of a retry topic is sent: what it repeats may be in hand of an assignment
        // that is gone, and is then let go without an outcome.
        let isRepeated = window.arrived(names.notification, from: arrival.place)
        return isRepeated && !arrival.isRetry ? .duplicate : .send
    }

    /// A stream is about to be opened: the token may have died, or lived again, while the event
    /// waited. `unregisteredSince` is asked for tokens only that died of this shard's requests.
    ///
    /// - Returns: nil when nothing is against the token, nor was.
    mutating func wordAtSending(
        _ names: DeliveryHashes,
        _ arrival: Arrival,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) -> (since: Timestamp?, suppresses: Bool)? {
        guard
            names.unregisteredAt != nil
                || recentlyDead.count > 0 && recentlyDead[names.token] != nil
        else { return nil }
        let since = deadSince(names.token, unregisteredSince)
        return (since, since.map { !arrival.content.isRegistered(after: $0) } ?? false)
    }

    /// Since when the token is dead, as far as the process knows; nil: nothing is against it.
    ///
    /// The shared list has the last word: another shard, or another process, may have found the
    /// token alive since.
    private mutating func deadSince(
        _ token: KeyedHash,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) -> Timestamp? {
        if unannounced.contains(token) { return recentlyDead[token] }
        let since = unregisteredSince(token)
        if since == nil { recentlyDead.remove(token) }
        return since
    }

    // MARK: The end

    /// An event has ended: draws the lessons, and holds its token back while the fuse is blown.
    ///
    /// - Returns: words for the process's list, in order.
    mutating func ended(
        _ conclusion: inout Conclusion,
        _ names: DeliveryHashes,
        _ arrival: Arrival,
        _ route: Route?,
        now: Moment
    ) -> [Action] {
        if !conclusion.isAccepted { window.withdraw(names.notification, from: arrival.place) }
        // No answer to a broadcast says anything about a token.
        guard case .apns = conclusion.decidedBy, !arrival.isBroadcast, let route else { return [] }
        let isCondemned = if case .keep = conclusion.tokenAction { false } else { true }
        if isCondemned || conclusion.isAccepted, !fuses.isEmpty {
            fuses[route.index].answered(isCondemned: isCondemned, now: now.instant)
            if isCondemned, fuses[route.index].isBlown { conclusion.tokenAction = .hold }
        }
        guard settings.suppressesUnregistered else { return [] }
        switch (conclusion.kind, conclusion.tokenAction) {
        case (.unregistered, .hold):
            return [revived(names.token), died(names.token, since: SuppressionList.noted)]
        case (.unregistered, _):
            return [died(names.token, since: conclusion.unregisteredAt ?? now.timestamp)]
        case (.accepted, _) where names.unregisteredAt != nil:
            conclusion.isTokenReadmitted = true
            return [revived(names.token)]
        case (_, .keep):
            return []
        case (_, .remove), (_, .checkEnvironment), (_, .checkTopic), (_, .hold):
            return [died(names.token, since: SuppressionList.noted)]
        }
    }

    /// A delivery left without an outcome: somebody else sends it, or this shard does later.
    mutating func released(_ names: DeliveryHashes, _ arrival: Arrival) {
        window.withdraw(names.notification, from: arrival.place)
    }

    /// The process's list has heard every word.
    mutating func announced() { unannounced.removeAll() }

    private mutating func died(_ token: KeyedHash, since: Timestamp) -> Action {
        recentlyDead.insert(token, since: since)
        unannounced.insert(token)
        return .suppressToken(token, since: since)
    }

    private mutating func revived(_ token: KeyedHash) -> Action {
        recentlyDead.remove(token)
        unannounced.insert(token)
        return .readmitToken(token)
    }

    // MARK: Queries

    /// The route's fuse; nil: the configuration has none.
    func fuse(of route: Route) -> TokenFuse? { fuses.isEmpty ? nil : fuses[route.index] }
}

/// The delivery's names in the tables of `Hygiene`.
struct DeliveryHashes: Hashable, Sendable {
    /// Of the device's line, or of the channel's, which is in no table of tokens.
    let token: KeyedHash
    let notification: KeyedHash
    /// When the token was called dead, if it was; or `SuppressionList.noted`.
    var unregisteredAt: Timestamp?
}

extension Arrival {
    fileprivate var place: DedupWindow.Place {
        DedupWindow.Place(partition: record.partition, offset: record.offset)
    }
}

extension Event {
    /// Whether the app reported the token after APNs had called it dead, if it did.
    fileprivate func isRegistered(after unregisteredAt: Timestamp) -> Bool {
        unregisteredAt == SuppressionList.noted
            || tokenRegisteredAt.map { $0 > unregisteredAt } ?? false
    }
}
