import EmbeddedKafka
import Foundation
import KafkaIO
import Synchronization
import SystemIO
import Vocabulary

/// One pass of the demo's events through the service, with progress output.
final class DemoRun: Sendable {
    private let kafka: EmbeddedKafka
    private let events: [DemoEvent]
    /// The reason to stop waiting, if there is one.
    private let obstacle = Mutex<String?>(nil)

    init(kafka: EmbeddedKafka, events: [DemoEvent]) {
        self.kafka = kafka
        self.events = events
    }

    /// Ends the wait, because the service has ended.
    func giveUp(_ reason: String) {
        obstacle.withLock { $0 = reason }
    }

    /// Publishes all events and waits until each has its outcomes or the time is up.
    ///
    /// It blocks, so call it on its own thread.
    func untilComplete(_ deadline: Duration) throws -> (DemoLedger, Duration) {
        var ledger = DemoLedger(events)
        let publisher = try DemoPublisher(kafka)
        let results = try TopicTap(DemoWorld.results, kafka)
        let start = SystemClock.now
        try publisher.publish(events)
        Terminal.print("published \(events.count) events")
        try locate(&ledger)
        var shown = ""
        // If the line cannot be redrawn, one line per second is enough.
        var nextLine = start
        while !ledger.isComplete, SystemClock.now < start + deadline {
            if let obstacle = obstacle.withLock({ $0 }) { throw DemoError(obstacle) }
            for record in try results.next(until: SystemClock.now + .milliseconds(500)) {
                ledger.outcomeArrived(record)
            }
            let line = Self.progress(ledger)
            let isDue = Terminal.isInteractive || SystemClock.now >= nextLine || ledger.isComplete
            if line != shown, isDue {
                Terminal.progress(line)
                shown = line
                nextLine = SystemClock.now + .seconds(1)
            }
        }
        Terminal.endProgress()
        let elapsed = SystemClock.now - start
        // Duplicate outcomes would arrive soon.
        for record in try results.next(until: SystemClock.now + .milliseconds(500)) {
            ledger.outcomeArrived(record)
        }
        results.end()
        publisher.end()
        return (ledger, elapsed)
    }

    /// Reads the source topic to find each event's partition and offset.
    private func locate(_ ledger: inout DemoLedger) throws {
        let source = try TopicTap(DemoWorld.source, kafka)
        var located = 0
        let deadline = SystemClock.now + .seconds(30)
        while located < events.count, SystemClock.now < deadline {
            for record in try source.next(until: deadline) {
                ledger.published(record, in: source.partition(of: record))
                located += 1
            }
        }
        source.end()
    }

    private static func progress(_ ledger: DemoLedger) -> String {
        let kinds = ledger.kinds.map { "\($0.count) \($0.kind)" }.joined(separator: ", ")
        return "\(ledger.arrived) of \(ledger.expected) outcomes are there"
            + (kinds.isEmpty ? "; waiting for the consumer group to form" : ": \(kinds)")
    }
}
