import Delivery
import Vocabulary

/// The first source's events that wait for their first stream, by route.
struct UrgentQueue {
    struct Waiting {
        /// Requests of other sources on the route before it came.
        let others: Int
        /// The most that may go before it.
        let bound: Int
    }

    var others = 0
    var waiting: [Int32: Waiting] = [:]
}

extension World {
    /// What the checkers must know of a record that a member took.
    mutating func noteArrival(
        of event: Int32,
        _ decoded: DecodedRecord,
        _ history: RetryHistory?,
        at place: RecordPlace,
        by member: Member
    ) {
        if let history, let tier = kafka.partitions[place.partition.index].tier {
            let written = min(history.writtenAt ?? timestamp, timestamp)
            let bound = written.milliseconds + plan.tiers[tier].milliseconds
            let due = min(history.dueAt.milliseconds, bound)
            member.notBefore[place] = now + .milliseconds(due - timestamp.milliseconds)
        }
        let facts = events[Int(event)]
        if facts.content == .notification {
            member.inHand[facts.identity, default: []].insert(place)
        }
        if facts.content == .notification, isBroadcast(facts) {
            member.broadcasts[facts.device, default: []].append(place)
            member.newestBroadcasts[facts.device] = place
        }
        let load = member.load[facts.device, default: 0]
        member.load[facts.device] = load + 1
        guard facts.source == 0 else { return }
        member.urgentLoad += 1
        // Alone in its device's line, and delayed by no limit: only the queue is before it.
        guard case .event = decoded, plan.sources.count > 1, load == 0, history == nil,
            plan.rateLimit == nil,
            facts.content == .notification, member.streamsByDevice[facts.device] == nil
        else { return }
        let route = route(of: facts)
        member.urgent[route.index].waiting[event] = UrgentQueue.Waiting(
            others: member.urgent[route.index].others,
            bound: 4 * (member.urgentLoad + 8)
        )
    }

    /// The delivery is in no queue any more.
    mutating func noteEnd(of event: Int32, by member: Member) {
        let facts = events[Int(event)]
        member.load[facts.device, default: 1] -= 1
        if member.load[facts.device] == 0 { member.load[facts.device] = nil }
        guard facts.source == 0 else { return }
        member.urgentLoad -= 1
        member.urgent[route(of: facts).index].waiting[event] = nil
    }

    /// A delivery's event is at an end, or has gone to a retry topic.
    mutating func noteDeparture(of pending: Member.Pending, by member: Member) {
        let identity = events[Int(pending.event)].identity
        let place = RecordPlace(partition: pending.partition, offset: pending.offset)
        member.inHand[identity]?.remove(place)
        let channel = events[Int(pending.event)].device
        member.broadcasts[channel]?.removeAll { $0 == place }
        if member.broadcasts[channel]?.isEmpty == true { member.broadcasts[channel] = nil }
        if member.inHand[identity]?.isEmpty == true { member.inHand[identity] = nil }
    }

    /// Of what was in flight only open streams and outcomes on their way are left.
    private mutating func noteStillInHand(by member: Member) {
        member.inHand = [:]
        for connection in member.connections.values {
            for (delivery, stream) in connection.streams {
                guard let record = member.delivery(delivery)?.record else { continue }
                let identity = events[Int(stream.event)].identity
                member.inHand[identity, default: []].insert(RecordPlace(record))
            }
        }
        for pending in member.publishing.values {
            member.inHand[events[Int(pending.event)].identity, default: []].insert(
                RecordPlace(partition: pending.partition, offset: pending.offset)
            )
        }
    }

    /// What waited was handed back with the partitions.
    mutating func noteHandBack(by member: Member) {
        noteStillInHand(by: member)
        member.load = [:]
        member.broadcasts = [:]
        member.newestBroadcasts = [:]
        member.urgentLoad = 0
        for index in member.urgent.indices { member.urgent[index].waiting = [:] }
    }

    /// Of a source of eight times the weight, an event waits for few of others.
    mutating func checkUrgency(of event: Int32, on route: Route, by member: Member) {
        guard plan.sources.count > 1 else { return }
        guard events[Int(event)].source != 0 else {
            member.urgent[route.index].waiting[event] = nil
            return
        }
        member.urgent[route.index].others += 1
        let queue = member.urgent[route.index]
        // Of equals the one with the least bound: a dictionary has them in any order.
        let oldest = queue.waiting.values.min {
            ($0.others, $0.bound) < ($1.others, $1.bound)
        }
        guard let first = oldest,
            queue.others - first.others > first.bound
        else { return }
        found(.urgentIsNotStarved, "\(queue.others - first.others) of others went before it")
    }

    private func route(of event: SimulatedEvent) -> Route {
        let app = Applications.apps[apns.devices[Int(event.device)].app]
        return Route(credential: app.credential, environment: app.destination)
    }
}
