package import EventCodec
import Synchronization
package import SystemIO
package import Vocabulary

/// What other threads may request from a shard and read from it.
package final class ShardControl: Sendable {
    let wakeup: Wakeup
    private let shutdownRequested = Atomic(false)
    /// 0 before the shard's thread has begun.
    private let beatNanoseconds = Atomic<Int64>(0)
    private let latestStatus = Mutex(ShardStatus())
    package let statistics = StatisticsBox()
    /// At most one for each schema that the shard asked for.
    private let schemaAnswers = Mutex<[SchemaAnswer]>([])

    package init() throws(SystemError) {
        wakeup = try Wakeup()
    }

    /// Asks the shard to drain and leave.
    package func requestShutdown() {
        shutdownRequested.store(true, ordering: .releasing)
        wakeup.signal()
    }

    package var isShutdownRequested: Bool { shutdownRequested.load(ordering: .acquiring) }

    /// Puts an answer of the Schema Registry into the shard's inbox.
    package func deliver(_ answer: SchemaAnswer) {
        schemaAnswers.withLock { $0.append(answer) }
        wakeup.signal()
    }

    func takeSchemaAnswers() -> [SchemaAnswer] {
        schemaAnswers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }

    /// The loop turned.
    func beat(_ now: Instant) {
        beatNanoseconds.store(now.nanoseconds, ordering: .relaxed)
    }

    /// How long ago the loop last turned; nothing before its first turn.
    ///
    /// A healthy loop turns at least once a second: `Shard.tick` sees to it.
    package func silence(now: Instant) -> Duration {
        let beat = beatNanoseconds.load(ordering: .relaxed)
        return beat == 0 ? .zero : now - Instant(nanoseconds: beat)
    }

    /// What the watchdog sees.
    package var watchdogReading: Watchdog.Reading {
        let consumption = statistics.consumption?.statistics
        return latestStatus.withLock { status in
            let paused = Set(status.partitions.filter(\.isPaused).map(\.name))
            let isFetchBehind = consumption?.isBehind(besides: paused) ?? false
            return Watchdog.Reading(
                beat: Instant(nanoseconds: beatNanoseconds.load(ordering: .relaxed)),
                progress: status.progress,
                isBehind: isFetchBehind && status.isTakingRecords,
                hasEnded: status.hasEnded
            )
        }
    }

    package var hasEnded: Bool { status.hasEnded }

    package var status: ShardStatus {
        get { latestStatus.withLock { $0 } }
        set { latestStatus.withLock { $0 = newValue } }
    }
}

/// The Schema Registry's answer in a shard's inbox.
package struct SchemaAnswer: Sendable {
    let schema: SchemaReference
    /// Nil: the registry did not say.
    let result: RegisteredSchema?

    package init(schema: SchemaReference, result: RegisteredSchema?) {
        self.schema = schema
        self.result = result
    }
}
