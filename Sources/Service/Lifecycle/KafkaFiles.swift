import Configuration
import Credentials
import Log
import Shard
import SystemIO
import Telemetry
import Vocabulary

/// Watches the files of Kafka's clients, and decides when to restart the process because of them.
///
/// librdkafka reads certificates only when a client is created, so new ones need new clients, and
/// for that the shards must drain. A restart does this, and needs only the supervisor that is
/// required anyway; see `docs/decisions/0038-kafkas-files.md`.
final class KafkaFiles: Sendable {
    /// The thread's state between two checks.
    private struct Watch: Sendable {
        var content: ContentWatch<[String: Result<[UInt8], FileError>]>
        /// Nil: the files in use are current, or the current ones are unusable.
        var restartsAt: Instant?
    }

    /// Processes that see the same change restart within this time, each after a random delay.
    private static let spread = Duration.seconds(300)

    private let configuration: Configuration
    private let log: Log
    let reloads = FileReloads()
    private let thread: WatchThread
    private let processRestart: RestartRequest

    /// Assumes that the clients have read the files as they are now.
    init(
        _ configuration: Configuration,
        restart: RestartRequest,
        log: Log
    ) throws(ServiceError) {
        self.configuration = configuration
        // Every line, because operators cause them, and files are checked only once a second.
        self.log = log.everyLine
        processRestart = restart
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

    /// Checks the files now.
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
        processRestart.make()
    }

    /// When to restart; nil: not at all, and the reason is logged.
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

/// The process has drained, and must be restarted.
package struct RestartWanted: Error {}

extension Configuration {
    /// The contents of the files that Kafka's clients read or that contain properties, by path.
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

    /// Why a process could not start with the current files.
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
