import Delivery
import Vocabulary

/// Events of the first source that wait for their first stream on one route.
struct UrgentQueue {
    struct Waiting {
        /// Requests of other sources on the route before this event arrived.
        let others: Int
        /// The maximum number of such requests that may precede it.
        let bound: Int
    }

    var others = 0
    var waiting: [Int32: Waiting] = [:]
}

extension World {
    /// Notes when a retry record that a member has accepted may be sent.
    mutating func noteDue(_ history: RetryHistory, at place: RecordPlace, by member: Member) {
        guard let tier = kafka.partitions[place.partition.index].tier else { return }
        let written = min(history.writtenAt ?? timestamp, timestamp)
        let bound = written.milliseconds + plan.tiers[tier].milliseconds
        let due = min(history.dueAt.milliseconds, bound)
        member.notBefore[place] = now + .milliseconds(due - timestamp.milliseconds)
    }

    /// Notes an event that a member has accepted, for the checkers: a record, or a recipient.
    ///
    /// `isSendable`: it is valid, and its schema is known.
    mutating func noteArrival(
        of event: Int32,
        _ arrival: Arrival,
        isSendable: Bool,
        by member: Member
    ) {
        let place = RecordPlace(arrival)
        let facts = events[Int(event)]
        if facts.content == .notification {
            member.inHand[facts.identity, default: []].insert(place)
        }
        if facts.content == .notification, isBroadcast(facts) {
            member.broadcasts[facts.device, default: []].append(place)
            member.newestBroadcasts[facts.device] = place
        }
        // What waits for its campaign has no place in a line.
        let hasCampaign = campaign(of: event) != nil
        if isSendable, !arrival.isRetry, !hasCampaign { member.order.arrived(place) }
        let load = member.load[facts.device, default: 0]
        member.load[facts.device] = load + 1
        if load > 0 || member.streamsByDevice[facts.device] != nil {
            member.crowdedAt[facts.device] = now
        }
        if facts.content == .notification, let campaign = events[Int(head(of: event))].campaign {
            member.paces[campaign]?.arrived()
        }
        guard facts.source == 0 else { return }
        member.urgentLoad += 1
        // The only event for its device, and without a rate limit: it only waits for the queue.
        // When a recipient leaves the queue to be retried, nobody hears of it.
        guard isSendable, plan.sources.count > 1, load == 0, !arrival.isRetry,
            plan.rateLimit == nil, facts.recipient == nil, !hasCampaign,
            facts.content == .notification, member.streamsByDevice[facts.device] == nil
        else { return }
        let route = route(of: facts)
        member.urgent[route.index].waiting[event] = UrgentQueue.Waiting(
            others: member.urgent[route.index].others,
            bound: 4 * (member.urgentLoad + 8)
        )
    }

    /// Notes that a delivery has left all queues.
    mutating func noteEnd(of event: Int32, by member: Member) {
        let facts = events[Int(event)]
        member.load[facts.device, default: 1] -= 1
        if member.load[facts.device] == 0 { member.load[facts.device] = nil }
        guard facts.source == 0 else { return }
        member.urgentLoad -= 1
        member.urgent[route(of: facts).index].waiting[event] = nil
    }

    /// Notes that a delivery's events have ended or moved to a retry topic.
    mutating func noteDeparture(of pending: Member.Pending, by member: Member) {
        for (event, place) in pending.places { noteDeparture(of: event, at: place, by: member) }
    }

    private func noteDeparture(of event: Int32, at place: RecordPlace, by member: Member) {
        let identity = events[Int(event)].identity
        member.inHand[identity]?.remove(place)
        let channel = events[Int(event)].device
        member.broadcasts[channel]?.removeAll { $0 == place }
        if member.broadcasts[channel]?.isEmpty == true { member.broadcasts[channel] = nil }
        if member.inHand[identity]?.isEmpty == true { member.inHand[identity] = nil }
    }

    /// Keeps only open streams and outcomes on their way as in hand.
    private mutating func noteStillInHand(by member: Member) {
        member.inHand = [:]
        for connection in member.connections.values {
            for (delivery, stream) in connection.streams {
                guard let arrival = member.delivery(delivery)?.arrival else { continue }
                let identity = events[Int(stream.event)].identity
                member.inHand[identity, default: []].insert(RecordPlace(arrival))
            }
        }
        for (event, place) in member.publishing.values.flatMap(\.places) {
            member.inHand[events[Int(event)].identity, default: []].insert(place)
        }
    }

    /// Notes that the waiting events were released together with the partitions.
    mutating func noteHandBack(by member: Member) {
        noteStillInHand(by: member)
        member.load = [:]
        member.broadcasts = [:]
        member.newestBroadcasts = [:]
        member.urgentLoad = 0
        member.order = ArrivalOrder()
        for index in member.urgent.indices { member.urgent[index].waiting = [:] }
    }

    /// Checks that an event of a source with eight times the weight waits for few of the others.
    mutating func checkUrgency(of event: Int32, on route: Route, by member: Member) {
        guard plan.sources.count > 1 else { return }
        guard events[Int(event)].source != 0 else {
            member.urgent[route.index].waiting[event] = nil
            return
        }
        member.urgent[route.index].others += 1
        let queue = member.urgent[route.index]
        // Ties go to the lowest bound, because a dictionary has no stable order.
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
