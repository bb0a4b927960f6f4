import Delivery
import Vocabulary

extension World {
    mutating func checkRequest(
        _ delivery: Delivery,
        _ event: Int32,
        on connection: SimulatedConnection,
        by member: Member
    ) {
        checkStream(on: connection)
        checkKey(of: connection.route.credential, by: member)
        checkOwner(of: delivery, by: member)
        checkDevice(events[Int(event)], by: member)
        checkTime(of: delivery, by: member)
        checkUrgency(of: event, on: connection.route, by: member)
        checkIdentity(delivery, event)
        checkIsSendable(event)
        checkCampaign(of: event, by: member)
        checkSchema(of: events[Int(event)], by: member)
        checkOrder(of: delivery, event, by: member)
        checkExpiration(events[Int(event)])
        checkAge(of: delivery)
        checkGivenUp(delivery)
        checkToken(of: delivery, events[Int(event)], by: member)
        checkIsNewest(delivery, events[Int(event)], by: member)
    }

    /// Checks that no answer is awaited longer than the request timeout.
    mutating func checkTimeLimits(of member: Member) {
        while let limit = member.timeLimits.first, limit.due <= now {
            let key = limit.stream
            member.timeLimits.removeFirst()
            let stream = member.connections[key.connection]?.streams[key.delivery]
            guard stream?.number == key.stream else { continue }
            found(.requestsEndInTime, "event \(key.event) is still waited for")
        }
    }

    /// Checks that the connection may open a stream.
    ///
    /// It must accept streams, be within the peer's limit, and carry only one at a time until APNs
    /// has accepted the credential.
    private mutating func checkStream(on connection: SimulatedConnection) {
        if !connection.isOpen || connection.isDraining {
            found(.streamLimitKept, "a stream on a connection that takes none")
        }
        let open = connection.streams.count
        if open >= connection.limit {
            found(.streamLimitKept, "\(open + 1) streams over \(connection.limit)")
        }
        if open > 0, !connection.isProven {
            found(.oneStreamUntilProven, "\(open + 1) streams before the first success")
        }
        // The service waits ten seconds, and the member itself may hang for twenty.
        if let pingedAt = connection.pingedAt, now - pingedAt > .seconds(31) {
            found(.stalledConnectionGivenUp, "used \(now - pingedAt) after a PING")
        }
        // The service waits twenty seconds for a peer that answers nothing, and may hang twice.
        if let askedAt = connection.askedAt, now - askedAt > .seconds(61) {
            found(.deadConnectionGivenUp, "used \(now - askedAt) after a request without an answer")
        }
    }

    /// Checks that a member does not use a key that APNs rejected for another one of its process.
    ///
    /// The key must rest for the least time for which a credential is parked.
    private mutating func checkKey(of credential: Int, by member: Member) {
        guard let revokedAt = member.revokedAt[credential], now - revokedAt < .seconds(30)
        else { return }
        found(.revokedKeyIsNotUsed, "credential \(credential), \(now - revokedAt) after the word")
    }

    /// Checks that a member sends nothing from a revoked partition: its next owner does.
    private mutating func checkOwner(of delivery: Delivery, by member: Member) {
        let partition = delivery.record.partition
        guard member.cursorIndex(of: partition) == nil else { return }
        found(.ownedWhenSent, "partition \(partition.index) is somebody else's")
    }

    /// Checks that only one notification is in flight per device and app.
    private mutating func checkDevice(_ event: SimulatedEvent, by member: Member) {
        guard member.streamsByDevice[event.device] != nil else { return }
        found(.oneInFlightPerDevice, "device \(event.device)")
    }

    /// Checks that a retry record is not sent before it is due, by the member's clock on arrival.
    private mutating func checkTime(of delivery: Delivery, by member: Member) {
        let place = RecordPlace(of: delivery.record)
        guard let notBefore = member.notBefore[place], now < notBefore else { return }
        found(.notSentBeforeItsTime, "\(notBefore - now) too early")
    }

    /// Promise 2: all attempts for one event use the same `apns-id`.
    private mutating func checkIdentity(_ delivery: Delivery, _ event: Int32) {
        guard delivery.event?.apnsID != apnsID(of: event) else { return }
        found(.sameIdentity, "sent \(String(describing: delivery.event?.apnsID))")
    }

    /// Checks that nothing is sent after its expiration, by the member's wall clock.
    private mutating func checkExpiration(_ event: SimulatedEvent) {
        guard let expiration = event.expiration, expiration > 0 else { return }
        guard expiration <= timestamp.seconds else { return }
        found(.nothingSentAfterExpiration, "\(timestamp.seconds - expiration) s too late")
    }

    /// Checks that no event older than the limit is sent, by its first record and the wall clock.
    private mutating func checkAge(of delivery: Delivery) {
        guard let age = plan.eventAge, let written = delivery.record.timestamp else { return }
        let start = min(written, delivery.arrival.receivedAt.timestamp)
        let milliseconds = timestamp.milliseconds - start.milliseconds
        guard Duration.milliseconds(milliseconds) >= age else { return }
        found(.nothingSentAfterExpiration, "\(milliseconds) ms old")
    }

    /// Checks that an event read from a retry topic after its give-up time is not sent again.
    ///
    /// An event that waited for a schema, or a recipient for its turn, is judged after that; the
    /// wall clock may have gone back by then. One that waited for its campaign has all the time of
    /// that wait, of which its history has only a part.
    private mutating func checkGivenUp(_ delivery: Delivery) {
        guard clockJumpedAt < delivery.receivedAt.instant, let history = delivery.history,
            history.reason != LocalReason.campaignPaused.rawValue
        else { return }
        let readAt = delivery.arrival.receivedAt.timestamp
        let sinceFailure = readAt.milliseconds - history.firstFailedAt.milliseconds
        guard Duration.milliseconds(sinceFailure) > plan.giveUpAfter else { return }
        found(.lateIsGivenUp, "read \(sinceFailure) ms after its first failure")
    }
}
