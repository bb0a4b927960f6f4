import Vocabulary

/// Upstream: Poisson arrivals with bursts and quiet periods.
extension World {
    /// Factors for the mean rate, with the duration of each.
    private static let stretches: [(factor: Double, seconds: Int)] = [
        (1, 120), (0, 60), (10, 8), (1, 60), (0.1, 120), (2, 60), (30, 2), (0.5, 90),
    ]

    mutating func planNextEvent() {
        let cycle = Self.stretches.reduce(0) { $0 + $1.seconds }
        // Each seed starts at another point of the cycle.
        let elapsed = Int(now.nanoseconds / 1_000_000_000) + Int(plan.seed % UInt64(cycle))
        var second = elapsed % cycle
        var stretch = Self.stretches[0]
        for candidate in Self.stretches {
            stretch = candidate
            if second < candidate.seconds { break }
            second -= candidate.seconds
        }
        let rate = max(stretch.factor, 0.02) * plan.eventsPerSecond
        // Not far beyond the end of the stretch, because the rate changes there.
        let wait = min(dice[.traffic].wait(mean: .seconds(1) / rate), .seconds(10))
        guard now + wait < Instant(nanoseconds: 0) + plan.trafficEnd else { return }
        after(wait, .eventAppended)
    }

    mutating func eventAppended() {
        defer { planNextEvent() }
        guard !isSkipped() else { return }
        let source = pickSource()
        let choices = partitionsOfSource[source]
        appendEvent(of: source, to: choices[dice[.traffic].number(below: choices.count)])
    }

    mutating func appendEvent(of source: Int, to partition: Int) {
        if strikes(plan.chances.gap, .traffic) {
            coverage.note(.gapInLog)
            kafka.partitions[partition].entries.append(.init(event: nil, isResolved: true))
        }
        let number = writeEvent(source: UInt8(source))
        let content = events[Int(number)].content
        coverage.note(.eventAppended, times: content == .fanOut ? recipientCount(of: number) : 1)
        kafka.partitions[partition].entries.append(
            .init(
                event: number,
                isResolved: content == .tombstone,
                recipientCount: content == .fanOut ? recipientCount(of: number) : 0
            )
        )
        wakeOwner(of: PartitionID(index: partition))
    }

    /// Whether upstream writes nothing this time, because each recipient counts as an event.
    private mutating func isSkipped() -> Bool {
        guard recipientsAhead > 0 else { return false }
        let isSkipped = recipientsAhead > 200 || !recipientsAhead.isMultiple(of: 4)
        recipientsAhead -= 1
        return isSkipped
    }

    /// - Returns: the event's index in the world's list.
    private mutating func writeEvent(source: UInt8) -> Int32 {
        let isBroadcast = plan.sources[Int(source)].isBroadcast
        if events.count > 10, strikes(plan.chances.repeatedEvent, .content) {
            let place = Int32(events.count - 1 - dice[.content].number(below: 10))
            let original = head(of: place)
            // A broadcast is not a notification.
            if self.isBroadcast(events[Int(original)]) == isBroadcast {
                return repeated(original, source: source)
            }
        }
        if !isBroadcast, dice[.recipients].comesUp(plan.fanOuts.share) {
            coverage.note(.fanOutAppended)
            let head = makeFanOut(source: source)
            events[Int(head)].campaign = campaigns.draw()
            return noted(fanOut: head)
        }
        events.append(makeEvent(source: source))
        // A broadcast that waits for its campaign may be sent after a newer one.
        if !isBroadcast { events[events.count - 1].campaign = campaigns.draw() }
        if dice[.recipients].comesUp(plan.fanOuts.tooLargeToRetry) {
            events[events.count - 1].isTooLargeToRetry = true
        }
        return Int32(events.count - 1)
    }

    private mutating func repeated(_ original: Int32, source: UInt8) -> Int32 {
        guard events[Int(original)].content == .fanOut else {
            events.append(repeated(of: events[Int(original)], source: source))
            return Int32(events.count - 1)
        }
        return noted(fanOut: repeatFanOut(original, source: source))
    }

    /// Notes that the recipients of an event with the largest record so far are written.
    private mutating func noted(fanOut head: Int32) -> Int32 {
        recipientsAhead += recipientCount(of: head) - 1
        let value = fanOutValue(of: head)
        let record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: value
        )
        largestRecord = max(largestRecord, value.count + fanOut(head, record).recipients.byteCount)
        return head
    }

    private mutating func pickSource() -> Int {
        guard plan.sources.count > 1 else { return 0 }
        let total = plan.sources.reduce(0) { $0 + $1.share }
        var point = dice[.traffic].unit() * total
        for (index, source) in plan.sources.enumerated() {
            point -= source.share
            if point < 0 { return index }
        }
        return plan.sources.count - 1
    }

    private mutating func makeEvent(source: UInt8) -> SimulatedEvent {
        let chances = plan.chances
        let isHot = dice[.content].comesUp(chances.hotDevice)
        let isBroadcast = plan.sources[Int(source)].isBroadcast
        let device =
            isBroadcast
            ? plan.devices + dice[.content].number(below: plan.channels)
            : dice[.content].number(below: isHot ? apns.hotDevices : plan.devices)
        var content = SimulatedEvent.Content.notification
        if strikes(chances.tombstone, .content) {
            content = .tombstone
        } else if strikes(chances.invalidEvent, .content) {
            content = .invalid
        } else if strikes(chances.uncoveredEvent, .content) {
            content = .uncovered
        }
        var expiration: Int64?
        if dice[.content].comesUp(chances.expiringEvent) {
            expiration = timestamp.seconds + Int64(dice[.content].number(-5...600))
        } else if dice[.content].comesUp(0.1) {
            expiration = 0
        }
        return SimulatedEvent(
            content: content,
            identity: Int32(events.count),
            device: Int32(device),
            source: source,
            expiration: expiration,
            isCollapsible: dice[.content].comesUp(0.2),
            tokenRegisteredAt: registrationTime(of: device),
            appendedAt: now,
            schema: !isBroadcast && strikes(chances.namedSchema, .content)
                ? .id(UInt32(dice[.content].number(below: 20))) : nil,
            size: UInt8(dice[.content].number(below: Self.values.count)),
            isOversized: strikes(chances.oversizedEvent, .content)
        )
    }

    /// When the app last reported the device's token, for every other event only.
    ///
    /// Events without it are sent because other events have shown that the token is alive.
    private func registrationTime(of device: Int) -> Timestamp? {
        guard events.count.isMultiple(of: 2), let revived = apns.devices[device].revivesAt,
            revived <= now
        else { return nil }
        return SimulatedAPNs.timestamp(revived)
    }

    /// An event that upstream sends a second time.
    private mutating func repeated(of event: SimulatedEvent, source: UInt8) -> SimulatedEvent {
        coverage.note(.eventRepeatedUpstream)
        return SimulatedEvent(
            content: event.content,
            identity: event.identity,
            device: event.device,
            source: source,
            expiration: event.expiration,
            isCollapsible: event.isCollapsible,
            tokenRegisteredAt: event.tokenRegisteredAt,
            appendedAt: now,
            schema: event.schema,
            size: event.size,
            isOversized: event.isOversized
        )
    }
}
