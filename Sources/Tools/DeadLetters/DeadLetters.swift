package import Configuration
import EventCodec
import KafkaIO
package import Log
import SystemIO
import Vocabulary

/// Runs `heliograph dead-letters`: lists failed events and produces them again.
///
/// Every call blocks until it has read the dead-letter topic up to its end at the start.
package struct DeadLetters {
    private let configuration: Configuration

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Shows every dead letter that matches the filter, in the order of its partition.
    ///
    /// - Returns: The number of dead letters.
    package func list(
        _ filter: DeadLetterFilter,
        show: (DeadLetter) -> Void
    ) throws(ServiceError) -> Int {
        let waiter = try CommandWaiter()
        let reader = try DeadLetterReader(configuration, filter: filter, wakeup: waiter.wakeup)
        defer { reader.end() }
        var count = 0
        while !reader.isComplete {
            let letters = try reader.next()
            for letter in letters {
                show(letter)
                count += 1
            }
            if letters.isEmpty, !reader.isComplete { try waiter.wait() }
        }
        return count
    }

    /// Produces every dead letter that matches the filter again, as the original event.
    ///
    /// - Parameters:
    ///   - filter: Selects the dead letters.
    ///   - destination: The topic to produce to; nil: each letter's own source, if it is a source
    ///     of this configuration.
    ///   - rate: The maximum number of records per second; nil: as fast as Kafka accepts them.
    ///   - isTrial: Whether to produce nothing.
    ///   - isInterrupted: Called at least once a second; after true, the replay completes the
    ///     records in flight and returns.
    ///   - report: Called with progress and results.
    /// - Returns: The counts, and how to continue.
    /// - Throws: `ServiceError` if the topic cannot be read further.
    package func replay(
        _ filter: DeadLetterFilter,
        to destination: String?,
        rate: Int?,
        isTrial: Bool,
        isInterrupted: @escaping () -> Bool,
        report: @escaping (DeadLetterReplay.Report) -> Void
    ) throws(ServiceError) -> DeadLetterReplay.Result {
        let replay = try DeadLetterReplay(
            configuration,
            filter: filter,
            destination: destination.map(KafkaTopic.init),
            rate: rate,
            isTrial: isTrial,
            isInterrupted: isInterrupted,
            report: report
        )
        defer { replay.end() }
        return try replay.run()
    }
}

/// Makes a command wait until a Kafka client has events.
final class CommandWaiter {
    let wakeup: Wakeup
    private let loop: EventLoop

    init() throws(ServiceError) {
        do throws(SystemError) {
            wakeup = try Wakeup()
            loop = try EventLoop()
            try loop.register(wakeup.fileDescriptor, id: 1, interest: .read)
        } catch {
            throw ServiceError(text: "\(error)")
        }
    }

    /// Waits until a Kafka client has events, until `moment`, or for at most one second.
    func wait(until moment: Instant = Instant(nanoseconds: .max)) throws(ServiceError) {
        do throws(SystemError) {
            try loop.wait(until: min(moment, SystemClock.now + .seconds(1))) { _, _ in }
        } catch {
            throw ServiceError(text: "\(error)")
        }
        wakeup.drain()
    }
}
