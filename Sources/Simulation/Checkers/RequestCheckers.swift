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
        checkIdentity(delivery, events[Int(event)])
        checkExpiration(events[Int(event)])
        checkAge(of: delivery)
        checkGivenUp(delivery, events[Int(event)])
        checkToken(of: delivery, events[Int(event)], by: member)
        checkIsNewest(delivery, events[Int(event)], by: member)
    }

    /// No answer is waited for longer than a request may take.
    mutating func checkTimeLimits(of member: Member) {
        while let limit = member.timeLimits.first, limit.due <= now {
            let key = limit.stream
            member.timeLimits.removeFirst()
            let stream = member.connections[key.connection]?.streams[key.delivery]
            guard stream?.number == key.stream else { continue }
            found(.requestsEndInTime, "event \(key.event) is still waited for")
        }
    }

    /// Streams open only on a connection that takes them, within the peer's limit, and one at a
    /// time until APNs has taken the credential.
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
        // Ten seconds are the service's patience; a member may hang for twenty itself.
        if let pingedAt = connection.pingedAt, now - pingedAt > .seconds(31) {
            found(.stalledConnectionGivenUp, "used \(now - pingedAt) after a PING")
        }
        // Twenty seconds are its patience with a peer that answers nothing, and it may hang twice.
        if let askedAt = connection.askedAt, now - askedAt > .seconds(61) {
            found(.deadConnectionGivenUp, "used \(now - askedAt) after a request without an answer")
        }
    }

    /// What APNs has refused to one member of a process is not tried by the others before the least
    /// time that a credential is parked for.
    private mutating func checkKey(of credential: Int, by member: Member) {
        guard let revokedAt = member.revokedAt[credential], now - revokedAt < .seconds(30)
        else { return }
        found(.revokedKeyIsNotUsed, "credential \(credential), \(now - revokedAt) after the word")
    }

    /// A member sends nothing of a partition that it has given up: the next owner does.
    private mutating func checkOwner(of delivery: Delivery, by member: Member) {
        let partition = delivery.record.partition
        guard member.cursorIndex(of: partition) == nil else { return }
        found(.ownedWhenSent, "partition \(partition.index) is somebody else's")
    }

    /// One notification in flight per device and app.
    private mutating func checkDevice(_ event: SimulatedEvent, by member: Member) {
        guard member.streamsByDevice[event.device] != nil else { return }
        found(.oneInFlightPerDevice, "device \(event.device)")
    }

    /// A retry record is not sent before it is due, by the member's clock when it came.
    private mutating func checkTime(of delivery: Delivery, by member: Member) {
        let place = RecordPlace(delivery.record)
        guard let notBefore = member.notBefore[place], now < notBefore else { return }
        found(.notSentBeforeItsTime, "\(notBefore - now) too early")
    }

    /// Promise 2: all attempts of one event carry the same identifier.
    private mutating func checkIdentity(_ delivery: Delivery, _ event: SimulatedEvent) {
        guard delivery.event?.apnsID != event.apnsID else { return }
        found(.sameIdentity, "sent \(String(describing: delivery.event?.apnsID))")
    }

    /// Nothing is sent after its expiration, by the wall clock of the member.
    private mutating func checkExpiration(_ event: SimulatedEvent) {
        guard let expiration = event.expiration, expiration > 0 else { return }
        guard expiration <= timestamp.seconds else { return }
        found(.nothingSentAfterExpiration, "\(timestamp.seconds - expiration) s too late")
    }

    /// Nothing is sent that is too old, counted from its first record, by the wall clock of the member.
    private mutating func checkAge(of delivery: Delivery) {
        guard let age = plan.eventAge, let written = delivery.record.timestamp else { return }
        let start = min(written, delivery.arrival.receivedAt.timestamp)
        let milliseconds = timestamp.milliseconds - start.milliseconds
        guard Duration.milliseconds(milliseconds) >= age else { return }
        found(.nothingSentAfterExpiration, "\(milliseconds) ms old")
    }

    /// What is read from a retry topic only after it was to be given up is not sent again.
    ///
    /// What waited for a schema is judged when that is here, and by then the wall clock may have
    /// gone back.
    private mutating func checkGivenUp(_ delivery: Delivery, _ event: SimulatedEvent) {
        guard event.schema == nil, let history = delivery.history else { return }
        let readAt = delivery.arrival.receivedAt.timestamp
        let sinceFailure = readAt.milliseconds - history.firstFailedAt.milliseconds
        guard Duration.milliseconds(sinceFailure) > plan.giveUpAfter else { return }
        found(.lateIsGivenUp, "read \(sinceFailure) ms after its first failure")
    }
}
