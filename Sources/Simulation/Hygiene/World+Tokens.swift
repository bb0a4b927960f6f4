import Delivery
import Vocabulary

/// Dead tokens: what members learn from each other.
extension World {
    /// What the member's process has against a token.
    func deadSince(by member: Member) -> (KeyedHash) -> Timestamp? {
        let (tokens, devices) = (member.tokens, apns.deviceOfHash)
        return { hash in devices[hash].flatMap { tokens[$0] } }
    }

    /// The member's engine hears what its process has against the tokens that it doubts.
    func hearOfTokens(_ member: Member) {
        let deadSince = deadSince(by: member)
        for token in member.engine.doubtfulTokens(now: now) {
            member.engine.tokenHeard(token, deadSince: deadSince(token), now: now)
        }
    }

    /// A list of its own, or that of another member of the same process.
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

    /// What the token-status record of an outcome says.
    func tokenStatus(of outcome: Outcome, _ event: Int32) -> TokenStatus {
        let isDead = outcome.kind == .unregistered && outcome.tokenAction != .hold
        return TokenStatus(
            device: events[Int(event)].device,
            unregisteredSince: isDead ? outcome.unregisteredAt ?? outcome.completedAt : nil,
            isNoted: !isDead && !outcome.isTokenReadmitted
        )
    }

    /// Kafka has the record; each process reads it a little later.
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
