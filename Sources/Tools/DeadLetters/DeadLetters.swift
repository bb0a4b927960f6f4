package import Configuration
import EventCodec
import KafkaIO
package import Log
import SystemIO
import Vocabulary

/// `heliograph dead-letters`: lists what failed, and sends it again.
///
/// Every call blocks until the dead-letter topic is read to where it ended at the start.
package struct DeadLetters {
    private let configuration: Configuration

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Shows every dead letter that the filter admits, in the order of its partition.
    ///
    /// - Returns: How many there are.
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

    /// Produces every dead letter that the filter admits once more, as the event it was.
    ///
    /// - Parameters:
    ///   - filter: which.
    ///   - destination: where to; nil: where each came from, if that is a source of this
    ///     configuration.
    ///   - rate: records a second at most; nil: as fast as Kafka takes them.
    ///   - isTrial: nothing is produced.
    ///   - isInterrupted: asked once a second at least; true: finish what is in flight, and return.
    ///   - report: called with what happens.
    /// - Returns: What was done.
    /// - Throws: `ServiceError` when the topic cannot be read on.
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

/// Lets a command sleep until a Kafka client has something to say.
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

    /// Until something came, or the moment; a second at most.
    func wait(until moment: Instant = Instant(nanoseconds: .max)) throws(ServiceError) {
        do throws(SystemError) {
            try loop.wait(until: min(moment, SystemClock.now + .seconds(1))) { _, _ in }
        } catch {
            throw ServiceError(text: "\(error)")
        }
        wakeup.drain()
    }
}
