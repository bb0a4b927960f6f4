import Commands
import EmbeddedKafka
import Foundation
import KafkaIO
import Service
import Vocabulary

enum KafkaCommand {
    static let command = Command(
        "kafka",
        "Run the embedded Kafka until SIGTERM.",
        text: """
            Prints one line of JSON when it is ready: {"bootstrap_servers": "host:port"}. It is \
            librdkafka's mock cluster: it keeps about 5 MB per partition, and nothing across a \
            restart. It cannot look up records by time, so 'heliograph tail --since' reads its \
            topics from the beginning.

            Each line on standard input is a fault: \(KafkaFault.usage). Brokers count from 1; \
            REQUEST is produce, fetch, offsetCommit, heartbeat, ...; CODE is an error code of \
            Kafka's protocol, or -195 to close the connection. The answer is a line: \
            {"done": true}.
            """,
        parameters: [topic, brokers],
        examples: [
            "Run one broker with two topics": """
            heliograph-lab kafka --topic notifications:4 --topic notifications.results
            """
        ],
        exitCodes: [
            0: "Stopped by a signal.",
            1: "Could not start; standard error says why.",
        ]
    ) { arguments in
        try checkPartitions(arguments[topic])
        let kafka = try EmbeddedKafka(brokers: arguments[brokers])
        for topic in arguments[topic] {
            try kafka.createTopic(topic.name, partitions: topic.partitions)
        }
        // Signals first: a program that reads the ready line may send one at once.
        let signals = ProcessSignals.catching([.terminate, .interrupt])
        Terminal.print(#"{"bootstrap_servers":"\#(kafka.bootstrapServers)"}"#)
        // Reading blocks, so it has its own thread, which ends with the process.
        Thread.detachNewThread {
            while let line = readLine() {
                let isDone = KafkaFault(line)?.apply(to: kafka) ?? false
                Terminal.print(#"{"done":\#(isDone)}"#)
            }
        }
        await signals.untilDrain()
        Terminal.end(.success)
    }

    /// Each broker opens a port.
    private static let brokerLimit = 100
    /// The limit for all topics together: 50 GB when they are full.
    private static let partitionLimit = 10_000
    private static let defaultPartitions = 4

    private static let brokers = Option.defaulted(
        "brokers",
        .integer(1...brokerLimit, "count"),
        to: 1,
        help: "Brokers, each on its own port, from 1 to \(brokerLimit)."
    )
    private static let topic = Option.repeatable(
        "topic",
        ValueType("<name>[:<partitions>]", read: NewTopic.init),
        help: """
            Create this topic, with \(defaultPartitions) partitions by default; at most \
            \(partitionLimit) in all.
            """
    )

    private static func checkPartitions(_ topics: [NewTopic]) throws(UsageError) {
        // Each count is within the limit, so the sum cannot overflow.
        guard topics.map(\.partitions).reduce(0, +) <= partitionLimit else {
            throw UsageError(
                "--topic: too many partitions, of about 5 MB each; create at most "
                    + "\(partitionLimit) in all"
            )
        }
    }

    /// `NAME` or `NAME:PARTITIONS`.
    private struct NewTopic {
        let name: KafkaTopic
        let partitions: Int

        init(_ text: String) throws(ValueMismatch) {
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.first, Self.isTopicName(name) else {
                throw ValueMismatch(
                    "expected <name> or <name>:<partitions>, with a name of 1 to 249 of a-z, A-Z, "
                        + "0-9, '.', '_' and '-', but not '.' or '..'"
                )
            }
            let partitions = parts.count > 1 ? Int(parts[1]) : defaultPartitions
            guard let partitions, (1...partitionLimit).contains(partitions) else {
                throw ValueMismatch("expected 1 to \(partitionLimit) partitions, about 5 MB each")
            }
            self.name = KafkaTopic(String(name))
            self.partitions = partitions
        }

        /// Kafka's own rule (`org.apache.kafka.common.internals.Topic`), which librdkafka does not
        /// check.
        private static func isTopicName(_ text: Substring) -> Bool {
            (1...249).contains(text.utf8.count) && text != "." && text != ".."
                && text.allSatisfy { character in
                    character.isASCII
                        && (character.isLetter || character.isNumber || "._-".contains(character))
                }
        }
    }
}
