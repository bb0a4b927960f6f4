import Delivery
import Vocabulary

/// Dead tokens: how members learn of them from each other.
extension World {
    /// Looks tokens up in the list of the member's process.
    func deadSince(by member: Member) -> (KeyedHash) -> Timestamp? {
        let (tokens, devices) = (member.tokens, apns.deviceOfHash)
        return { hash in devices[hash].flatMap { tokens[$0] } }
    }

    /// Answers the engine's questions about doubtful tokens from its process's list.
    func hearOfTokens(_ member: Member) {
        let deadSince = deadSince(by: member)
        for token in member.engine.doubtfulTokens(now: now) {
            member.engine.tokenHeard(token, deadSince: deadSince(token), now: now)
        }
    }

    /// Returns a new list, or that of a member in the same process.
    mutating func tokenList() -> TokenList {
        if !members.isEmpty, dice[.members].comesUp(0.75) {
            return dice[.members].element(members).tokens
        }
        return TokenList(reading: kafka.tokenStatus, at: now)
    }

    mutating func suppress(_ hash: KeyedHash, since: Timestamp, by member: Member) {
        guard let device = apns.deviceOfHash[hash],
            since == SuppressionList.noted || apns.declaredDead(device, since: since)
        else {
            return found(.suppressedIsDead, "APNs never said so of what is to be suppressed")
        }
        if since != SuppressionList.noted {
            coverage.note(.tokenSuppressed)
            member.deadTokens[device] = (since, now)
        }
        member.tokens.suppress(device, since: since, at: now)
    }

    mutating func readmit(_ hash: KeyedHash, by member: Member) {
        guard let device = apns.deviceOfHash[hash] else { return }
        coverage.note(.tokenReadmitted)
        member.deadTokens[device] = nil
        member.tokens.readmit(device, at: now)
    }

    /// The token-status record for an outcome.
    func tokenStatus(of outcome: Outcome, _ event: Int32, answeredAt: Instant?) -> TokenStatus {
        let isDead = outcome.kind == .unregistered && outcome.tokenAction != .hold
        return TokenStatus(
            device: events[Int(event)].device,
            unregisteredSince: isDead ? outcome.unregisteredAt ?? outcome.completedAt : nil,
            isNoted: !isDead && !outcome.isTokenReadmitted,
            answeredAt: answeredAt
        )
    }

    /// Stores a token-status record in Kafka; each process reads it a little later.
    mutating func tokenStatusWritten(_ status: TokenStatus) {
        kafka.tokenStatus.append(status)
        for member in members {
            after(
                dice[.tokenStatus, member].milliseconds(20...3000),
                .tokenStatusRead(member.id, upTo: kafka.tokenStatus.count)
            )
        }
    }

    mutating func tokenStatusRead(_ id: MemberID, upTo end: Int) {
        guard isKafkaDown == 0 else {
            return after(.seconds(5), .tokenStatusRead(id, upTo: end))
        }
        member(id)?.tokens.read(kafka.tokenStatus, upTo: end, at: now)
    }
}
