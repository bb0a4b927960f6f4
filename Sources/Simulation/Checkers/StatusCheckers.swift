import Delivery
import Vocabulary

/// The newest status of each token that a member has written to the token-status topic.
struct WrittenStatuses {
    private struct Key: Hashable {
        let member: MemberID
        let device: Int32
    }

    private struct Written {
        /// When APNs gave the answer that it is about.
        let answeredAt: Instant
        let producer: Int
    }

    private var newest: [Key: Written] = [:]

    /// A status is in the topic.
    ///
    /// - Returns: how much older it is than one before it; nil: it is not.
    mutating func wrote(
        _ device: Int32,
        answeredAt: Instant,
        _ request: ProduceRequest
    ) -> Duration? {
        let key = Key(member: request.member, device: device)
        if let last = newest[key] {
            // What a discarded producer had on its way comes at any time.
            guard request.producer >= last.producer else { return nil }
            guard answeredAt >= last.answeredAt else { return last.answeredAt - answeredAt }
        }
        newest[key] = Written(answeredAt: answeredAt, producer: request.producer)
        return nil
    }
}

extension World {
    /// Checks that a member writes no status of a token after a newer one, by APNs' answers.
    ///
    /// Nothing is promised between members.
    mutating func checkStatusOrder(_ status: TokenStatus, from request: ProduceRequest) {
        guard let answeredAt = status.answeredAt,
            let age = writtenStatuses.wrote(status.device, answeredAt: answeredAt, request)
        else { return }
        found(
            .statusOrderIsKept,
            "member \(request.member.number) writes one of device \(status.device) that is \(age) "
                + "older than the last"
        )
    }

    /// Checks that a member drops a status as outdated only if it has a newer one of the token.
    mutating func checkOutdated(_ tag: PublicationTag, by member: Member) {
        guard let pending = member.publishing[tag.delivery] else { return }
        let device = events[Int(pending.event)].device
        guard tag.publication != .tokenStatus || member.lastStatuses[device] == tag.delivery
        else { return }
        found(.statusOrderIsKept, "\(tag.publication) of device \(device) is dropped as outdated")
    }
}
