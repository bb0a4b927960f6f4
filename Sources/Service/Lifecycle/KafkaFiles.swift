import Configuration
import Credentials
import Log
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Watches the files of Kafka's clients, and says when the process is to start again with them.
///
/// librdkafka reads certificates when it makes a client and takes no others, so another client is
/// needed, and for that the shards have to drain. A new process does so, and the supervisor that
/// starts it is needed in any case: see `docs/decisions/0038-kafkas-files.md`.
final class KafkaFiles: Sendable {
    /// What the thread remembers between two looks.
    private struct Watch: Sendable {
        var content: ContentWatch<[String: Result<[UInt8], FileError>]>
        /// Nil: what is in use is what the files hold, or they are unusable.
        var restartsAt: Instant?
    }

    /// Processes that see the same change start again within this time, each when it likes.
    private static let spread = Duration.seconds(300)

    private let configuration: Configuration
    private let log: Log
    let reloads = FileReloads()
    private let thread: WatchThread
    private let isDue = Atomic(false)
    private let waiting: AsyncStream<Never>
    private let waitingEnds: AsyncStream<Never>.Continuation

    /// Takes the files for those that the clients have read.
    init(_ configuration: Configuration, log: Log) throws(ServiceError) {
        self.configuration = configuration
        // What operators do with files, which is looked at once a second.
        self.log = log.everyLine
        (waiting, waitingEnds) = AsyncStream.makeStream()
        do throws(SystemError) {
            thread = try WatchThread()
        } catch {
            throw ServiceError(text: "cannot watch the files of kafka.properties: \(error)")
        }
        let content = configuration.readKafkaFiles()
        guard !content.isEmpty else { return }
        thread.start(named: "kafka files", Watch(content: ContentWatch(inUse: content))) {
            [weak self] watch, isAsked in self?.look(&watch, inUse: content, isAsked: isAsked)
        }
    }

    /// Whether the process is to start again.
    var isRestartDue: Bool { isDue.load(ordering: .acquiring) }

    /// Returns when it is, or when the task is cancelled.
    func wait() async {
        for await _ in waiting {}
    }

    /// Has the files read without waiting for their time.
    func lookNow() {
        thread.lookNow()
    }

    func stop() {
        thread.stop()
    }

    // MARK: The thread

    private func look(
        _ watch: inout Watch,
        inUse: [String: Result<[UInt8], FileError>],
        isAsked: Bool
    ) {
        if let changed = watch.content.read(configuration.readKafkaFiles(), isAsked: isAsked) {
            watch.restartsAt = restart(with: changed, inUse: inUse, isAsked: isAsked)
        }
        guard let restartsAt = watch.restartsAt, isAsked || restartsAt <= SystemClock.now else {
            return
        }
        watch.restartsAt = nil
        log.notice(
            "Kafka client files changed; draining, then exiting with code 75 to be restarted"
        )
        isDue.store(true, ordering: .releasing)
        waitingEnds.finish()
    }

    /// When to start again; nil: not at all, and the log says why.
    private func restart(
        with changed: [String: Result<[UInt8], FileError>],
        inUse: [String: Result<[UInt8], FileError>],
        isAsked: Bool
    ) -> Instant? {
        let name = "Kafka client files"
        guard changed != inUse else {
            reloads.taken(name)
            return nil
        }
        let problems = configuration.problemsOfKafkaFiles(now: SystemClock.wallClock)
        guard problems.isEmpty else {
            let problem = problems.joined(separator: "; ")
            reloads.refused(name, because: problem)
            log.error(
                "Kafka client files changed and are unusable; a restart would fail",
                [.problem: problem]
            )
            return nil
        }
        reloads.taken(name)
        guard configuration.kafka.filesChanged == .restart else {
            log.warning("Kafka client files changed; restart the process to use them")
            return nil
        }
        let delay: Duration = isAsked ? .zero : Self.spread * Double.random(in: 0..<1)
        log.notice(
            "Kafka client files changed; restarting soon to use them",
            [.seconds: "\(delay.components.seconds)"]
        )
        return SystemClock.now + delay
    }
}

/// The process has drained, and must be restarted to use changed files.
package struct RestartWanted: Error {}

extension Configuration {
    /// What the files hold that Kafka's clients read, and those that hold their properties, by path.
    fileprivate func readKafkaFiles() -> [String: Result<[UInt8], FileError>] {
        let paths = Set(kafkaFiles.map(\.path) + kafka.propertyFiles.values)
        let contents = paths.map { path in
            let content = Result { () throws(FileError) in
                try BoundedFile.read(path, limit: Self.maxCAFileByteCount)
            }
            return (path, content)
        }
        return Dictionary(uniqueKeysWithValues: contents)
    }

    /// What would keep a process from starting with the files as they are now.
    fileprivate func problemsOfKafkaFiles(now: Timestamp) -> [String] {
        var next = self
        let unreadable = next.takePropertyFiles() + next.kafkaFileProblems()
        guard unreadable.isEmpty else { return unreadable.map(\.description) }
        let expired = next.kafka.certificates().compactMap { certificate in
            certificate.verdict(now: now).problem.map {
                "kafka.properties.\(certificate.property): \($0)"
            }
        }
        do throws(ServiceError) {
            try StartUp(configuration: next).checkProperties()
            return expired
        } catch {
            return error.lines + expired
        }
    }
}
