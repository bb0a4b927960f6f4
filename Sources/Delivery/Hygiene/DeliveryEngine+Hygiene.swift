import APNsRules
import Vocabulary

/// What a shard knows of device tokens and notifications.
struct Hygiene: Sendable {
    let settings: HygieneSettings
    /// Tokens that died while this shard had events in hand: those did not find them in the list
    /// that the process shares, when they arrived.
    var recentlyDead: SuppressionList
    /// Tokens of which the shared list has not been told the last word yet.
    var untold: Set<KeyedHash> = []
    var window: DedupWindow
    /// By the route's index; empty: no fuse.
    var fuses: [TokenFuse]

    init(_ settings: HygieneSettings, maxEvents: Int, routeCount: Int) {
        self.settings = settings
        recentlyDead = SuppressionList(
            maxCount: settings.suppressesUnregistered ? max(maxEvents, Self.fewest) : 0
        )
        window = DedupWindow(size: settings.dedupWindow)
        fuses = settings.fuse.map { Array(repeating: TokenFuse($0), count: routeCount) } ?? []
    }

    private static let fewest = 1024
}

/// The delivery's names in the tables of `Hygiene`.
struct DeliveryHashes: Hashable, Sendable {
    /// Of the device's line, or of the channel's, which is in no table of tokens.
    let token: KeyedHash
    let notification: KeyedHash
    /// When the token was called dead, if it was; or `SuppressionList.noted`.
    var unregisteredAt: Timestamp?
}

extension DeliveryEngine {
    // MARK: Queries

    /// The route's fuse; nil: the configuration has none.
    public func tokenFuse(of route: Route) -> TokenFuse? {
        hygiene.fuses.isEmpty ? nil : hygiene.fuses[route.index]
    }

    // MARK: Arrival

    /// Ends a delivery that must not be sent; to be called when its route and topic are known.
    ///
    /// False when the event may be sent.
    mutating func endsUnsent(
        _ id: DeliveryID,
        _ arrival: Arrival,
        _ names: DeliveryHashes,
        now: Moment
    ) -> Bool {
        // An event before it in the line may show that the token lives; then its turn decides.
        if let since = names.unregisteredAt, !arrival.content.isRegistered(after: since),
            !pacing.hasLine(names.token)
        {
            conclude(id, with: .suppressed(since: since), now: now)
            return true
        }
        // What comes out of a retry topic is sent: what it repeats may be in hand of an assignment that
        // is gone, and is then let go without an outcome.
        let isRepeated = hygiene.window.arrived(names.notification, from: arrival.place)
        if isRepeated, !arrival.isRetry {
            conclude(id, with: .duplicate, now: now)
            return true
        }
        return false
    }

    /// `unregisteredSince` is what the process's list has against a token.
    mutating func hashes(
        of arrival: Arrival,
        _ environment: APNsEnvironment,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) -> DeliveryHashes {
        let key = hygiene.settings.hashKey
        switch arrival.content.target {
        case .device(let token):
            let (name, notification) = key.hashes(
                ofEvent: arrival.content.id,
                token,
                topic: arrival.topic,
                environment: environment
            )
            hygiene.window.prefetch(notification)
            pacing.prefetch(name)
            var names = DeliveryHashes(token: name, notification: notification)
            if hygiene.settings.suppressesUnregistered {
                names.unregisteredAt = deadSince(names.token, unregisteredSince)
            }
            return names
        case .channel(let channel):
            return DeliveryHashes(
                token: key.hash(of: channel, environment: environment),
                notification: key.hash(ofEvent: arrival.content.id, channel)
            )
        }
    }

    /// Since when the token is dead, as far as the process knows; nil: nothing is against it.
    ///
    /// The shared list has the last word: another shard, or another process, may have found the
    /// token alive since.
    private mutating func deadSince(
        _ token: KeyedHash,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) -> Timestamp? {
        if hygiene.untold.contains(token) { return hygiene.recentlyDead[token] }
        let since = unregisteredSince(token)
        if since == nil { hygiene.recentlyDead.remove(token) }
        return since
    }

    /// Ends a delivery whose token died while it waited; to be called before a stream is opened.
    ///
    /// False when the event may be sent. `unregisteredSince` is what the process's list has against
    /// a token; it is asked for tokens only that died of this shard's requests.
    mutating func endsSuppressed(
        _ id: DeliveryID,
        unregisteredSince: (KeyedHash) -> Timestamp?,
        now: Moment
    ) -> Bool {
        guard let names = deliveries[id]?.hashes,
            names.unregisteredAt != nil
                || hygiene.recentlyDead.count > 0 && hygiene.recentlyDead[names.token] != nil
        else { return false }
        let since = deadSince(names.token, unregisteredSince)
        if let since, deliveries[id]?.arrival.content.isRegistered(after: since) == false {
            conclude(id, with: .suppressed(since: since), now: now)
            return true
        }
        deliveries.update(id) { $0.hashes?.unregisteredAt = since }
        return false
    }

    // MARK: The end

    /// Draws the lessons of a conclusion, and holds its token back while the fuse is blown.
    mutating func learn(
        from conclusion: inout Conclusion,
        of id: DeliveryID,
        _ arrival: Arrival,
        now: Moment
    ) {
        guard let names = deliveries[id]?.hashes else { return }
        if !conclusion.isAccepted {
            hygiene.window.withdraw(names.notification, from: arrival.place)
        }
        // No answer to a broadcast says anything about a token.
        guard case .apns = conclusion.decidedBy, !arrival.isBroadcast,
            let route = deliveries[id]?.route
        else { return }
        let isCondemned = if case .keep = conclusion.tokenAction { false } else { true }
        if isCondemned || conclusion.isAccepted, !hygiene.fuses.isEmpty {
            hygiene.fuses[route.index].answered(isCondemned: isCondemned, now: now.instant)
            if isCondemned, hygiene.fuses[route.index].isBlown { conclusion.tokenAction = .hold }
        }
        guard hygiene.settings.suppressesUnregistered else { return }
        switch (conclusion.kind, conclusion.tokenAction) {
        case (.unregistered, .hold):
            readmit(names.token)
            suppress(names.token, since: SuppressionList.noted)
        case (.unregistered, _):
            suppress(names.token, since: conclusion.unregisteredAt ?? now.timestamp)
        case (.accepted, _) where names.unregisteredAt != nil:
            conclusion.isTokenReadmitted = true
            readmit(names.token)
        case (_, .keep): break
        case (_, .remove), (_, .checkEnvironment), (_, .checkTopic), (_, .hold):
            suppress(names.token, since: SuppressionList.noted)
        }
    }

    /// A delivery left; without an outcome somebody else sends it, or this shard does later.
    mutating func forget(_ delivery: Delivery) {
        guard !delivery.hasOutcome, let names = delivery.hashes else { return }
        hygiene.window.withdraw(names.notification, from: delivery.arrival.place)
    }

    private mutating func suppress(_ token: KeyedHash, since: Timestamp) {
        hygiene.recentlyDead.insert(token, since: since)
        hygiene.untold.insert(token)
        actions.append(.suppressToken(token, since: since))
    }

    private mutating func readmit(_ token: KeyedHash) {
        hygiene.recentlyDead.remove(token)
        hygiene.untold.insert(token)
        actions.append(.readmitToken(token))
    }
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
