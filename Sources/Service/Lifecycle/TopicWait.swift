import Configuration
import KafkaIO
import Log
import Synchronization
import SystemIO
import Telemetry

/// Waits during startup until Kafka has confirmed that the topics exist.
///
/// A restart does not help if a broker does not answer, so the process stays live but not ready. An
/// error about a topic ends the startup; an unknown topic does so only after a while.
final class TopicWait: Sendable {
    private let startUp: StartUp
    private let log: Log
    private let latest = Mutex<String?>("the topics have not been checked yet")
    private let answer = Mutex<StartUp.TopicAnswer?>(nil)

    private static let pause = Duration.seconds(1)

    init(_ startUp: StartUp, log: Log) {
        self.startUp = startUp
        self.log = log
    }

    /// Why the topics are not confirmed; nil: they are.
    var trouble: String? { latest.withLock { $0 } }

    /// The batches that suit the topics, as far as they are known.
    var batches: KafkaConfiguration.Batches {
        answer.withLock {
            .shared(maxBytes: $0?.limits.smallest?.bytes, partitions: $0?.resultPartitions)
        }
    }

    /// - Parameter isStopped: Checked between requests, each of which takes at most
    ///   `Configuration.kafkaDeadline`.
    /// - Throws: A problem that an operator must fix.
    func wait(until isStopped: @Sendable () -> Bool) async throws(ServiceError) {
        var news = TroubleNews()
        var patience = startUp.configuration.topicPatience
        while !isStopped() {
            let checked = await ShardThread.run(named: "start-up") { [startUp] in
                Result { () throws(ServiceError) in try startUp.checkTopics() }
            }
            switch checked {
            case .success(let topics):
                tell(topics.limits)
                answer.withLock { $0 = topics }
                latest.withLock { $0 = nil }
                return
            case .failure(let error):
                let message: StaticString
                switch error.outlook {
                case .lasting: throw error
                case .unanswered: message = "waiting for Kafka"
                case .unknownTopics:
                    guard patience.wereUnknown(at: SystemClock.now) else { throw error }
                    message = "waiting for topics to appear in Kafka"
                }
                latest.withLock { $0 = error.description }
                if news.take(error.description) {
                    log.warning("\(message)", [.error: error.description])
                }
                // Only cancellation cuts this short, and then `isStopped` is true.
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    private func tell(_ limits: BatchLimits) {
        if let (topic, cause) = limits.unknown {
            log.info(
                "max.message.bytes of a topic is unknown; larger batches are split and retried",
                [.error: "\(topic): \(cause)"]
            )
        }
        for (topic, bytes) in limits.tooSmall {
            log.warning(
                "topic accepts smaller records than the source; larger events cannot be written to it",
                [
                    .problem:
                        "max.message.bytes of \(topic): \(bytes), of a source: \(limits.ofSources)"
                ]
            )
        }
    }
}

/// Detects whether a problem has changed since it was last reported.
package struct TroubleNews {
    private var told: String?

    package init() {}

    /// - Returns: Whether the text differs from the last one in more than its numbers.
    package mutating func take(_ text: String) -> Bool {
        let gist = Self.gist(text)
        defer { told = gist }
        return gist != told
    }

    /// The text without addresses and times, which differ between attempts.
    ///
    /// librdkafka's texts are like "Connection refused (after 3ms in state CONNECT, 1 identical
    /// error(s) suppressed)".
    private static func gist(_ text: String) -> String {
        let said = text.firstRange(of: " (after ").map { text[..<$0.lowerBound] } ?? text[...]
        return String(said.filter { !$0.isNumber })
    }
}
