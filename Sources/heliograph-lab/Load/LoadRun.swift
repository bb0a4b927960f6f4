import Foundation
import KafkaIO
import Synchronization
import SystemIO
import Vocabulary

/// Produces events at a steady rate on its own thread.
final class LoadRun: Sendable {
    private static let wakeupID: UInt64 = 1
    private static let reportEvery: Duration = .seconds(10)
    /// How long to wait at the end for Kafka to acknowledge the outstanding events.
    private static let lastWait: Duration = .seconds(30)

    private let bootstrapServers: String
    private let properties: [String: String]
    private let topic: KafkaTopic
    private let events: LoadEvents
    private let rate: Int
    private let count: Int
    private let isQuiet: Bool
    private let isStopped = Atomic(false)

    /// Prepares a run; `rate` is in events per second, and `isQuiet` suppresses the output.
    ///
    /// Without `count`, it runs until `stop`.
    init(
        bootstrapServers: String,
        properties: [String: String],
        topic: KafkaTopic,
        events: LoadEvents,
        rate: Int,
        count: Int?,
        isQuiet: Bool = false
    ) {
        self.bootstrapServers = bootstrapServers
        self.properties = properties
        self.topic = topic
        self.events = events
        self.rate = rate
        self.count = count ?? .max
        self.isQuiet = isQuiet
    }

    /// Stops the run; callable from any thread.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }

    /// Runs until all events are answered, and returns how many Kafka refused.
    func untilEnd() throws -> Int {
        let wakeup = try Wakeup()
        let loop = try EventLoop()
        let producer = try Producer(
            bootstrapServers: bootstrapServers,
            properties: properties,
            wakeup: wakeup.fileDescriptor
        )
        defer { producer.abandon() }
        try loop.register(wakeup.fileDescriptor, id: Self.wakeupID, interest: .read)
        var tally = LoadTally()
        var pace = LoadPace(rate: rate, from: SystemClock.now)
        var nextReport = SystemClock.now + Self.reportEvery
        while tally.produced < count, !isStopped.load(ordering: .relaxed) {
            let isFull = try produceDue(&pace, producer, &tally)
            tally.count(producer, wakeup)
            if !isQuiet, SystemClock.now >= nextReport {
                tally.print()
                nextReport = nextReport + Self.reportEvery
            }
            let pause: Duration = isFull ? .milliseconds(100) : .milliseconds(10)
            try loop.wait(until: SystemClock.now + pause) { _, _ in }
        }
        let end = SystemClock.now + Self.lastWait
        while producer.outstanding > 0, SystemClock.now < end {
            tally.count(producer, wakeup)
            try loop.wait(until: SystemClock.now + .milliseconds(100)) { _, _ in }
        }
        tally.refused += producer.outstanding
        if !isQuiet { tally.print() }
        return tally.refused
    }

    /// Produces the events that are due now.
    ///
    /// - Returns: Whether the producer's queue is full.
    private func produceDue(
        _ pace: inout LoadPace,
        _ producer: Producer,
        _ tally: inout LoadTally
    ) throws -> Bool {
        let now = Date.now
        for _ in 0..<min(pace.take(at: SystemClock.now), count - tally.produced) {
            let number = tally.produced
            do throws(ProduceError) {
                try producer.produce(
                    topic: topic,
                    key: events.key(number),
                    value: events.value(number, at: now),
                    tag: UInt64(number)
                )
            } catch {
                switch error {
                case .queueFull: return true
                case .refused(let reason): throw DemoError("Kafka refused an event: \(reason)")
                }
            }
            tally.produced += 1
        }
        return false
    }
}

/// Counts how many events are due at a steady rate, which is never exceeded.
struct LoadPace {
    let rate: Int
    private var last: Instant
    private var due = 0.0

    init(rate: Int, from start: Instant) {
        self.rate = rate
        last = start
    }

    /// Returns how many events became due since the last call.
    ///
    /// Events missed for more than a tenth of a second are dropped, not sent later in a burst.
    mutating func take(at now: Instant) -> Int {
        let elapsed = (now - last).components
        last = now
        due += (Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18) * Double(rate)
        due = min(due, max(1, Double(rate) / 10))
        let whole = Int(due)
        due -= Double(whole)
        return whole
    }
}

/// The number of events in each state so far.
struct LoadTally {
    var produced = 0
    var acknowledged = 0
    var refused = 0

    mutating func count(_ producer: Producer, _ wakeup: borrowing Wakeup) {
        wakeup.drain()
        var reports: [ProducerEvent] = []
        _ = producer.poll(budget: 10_000, into: &reports)
        for case .deliveryReported(_, let error) in reports {
            if error == nil { acknowledged += 1 } else { refused += 1 }
        }
    }

    func print() {
        Terminal.print(
            #"{"produced":\#(produced),"acknowledged":\#(acknowledged),"refused":\#(refused)}"#
        )
    }
}
