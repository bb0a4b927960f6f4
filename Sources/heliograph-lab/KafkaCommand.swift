import ArgumentParser
import Foundation
import KafkaIO
import Vocabulary

struct KafkaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kafka",
        abstract: "Run the embedded Kafka in a process of its own, until SIGTERM.",
        discussion: """
            Prints one line of JSON when it is ready: {"bootstrap_servers": "host:port"}. It is \
            librdkafka's mock cluster: it keeps about 5 MB a partition, and nothing over a restart. \
            It finds no offset by its time: 'heliograph tail --since' shows nothing of what it has.

            A line on standard input is a fault: \(KafkaFault.usage). Brokers count from 1; \
            REQUEST is produce, fetch, offsetCommit, heartbeat, ...; CODE is a number of the Kafka \
            protocol, or -195 for a connection that ends. Each is answered by a line: {"done": true}.
            """
    )

    /// Each opens a port.
    private static let brokerLimit = 100
    /// Of all topics together: 50 GB when they are full.
    private static let partitionLimit = 10_000

    @Option(help: "Brokers, each with a port of its own: 1 to 100.")
    var brokers = 1

    @Option(help: "A topic to make: NAME, or NAME:PARTITIONS, 10000 in all; may be given often.")
    var topic: [String] = []

    func validate() throws {
        guard (1...Self.brokerLimit).contains(brokers) else {
            throw ValidationError("--brokers: 1 to \(Self.brokerLimit)")
        }
        // Each has been held to the limit, so the sum cannot overflow.
        guard try newTopics().map(\.partitions).reduce(0, +) <= Self.partitionLimit else {
            throw ValidationError(
                "--topic: at most \(Self.partitionLimit) partitions in all, of some 5 MB each"
            )
        }
    }

    private func newTopics() throws -> [(topic: KafkaTopic, partitions: Int)] {
        try topic.map { text -> (topic: KafkaTopic, partitions: Int) in
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let partitions = parts.count > 1 ? Int(parts[1]) : 4
            guard let name = parts.first, Self.isTopicName(name) else {
                throw ValidationError(
                    "--topic '\(text)': expected NAME or NAME:PARTITIONS, with a name of 1 to 249 "
                        + "of a-z, A-Z, 0-9, '.', '_' and '-', but not '.' or '..'"
                )
            }
            guard let partitions, (1...Self.partitionLimit).contains(partitions) else {
                throw ValidationError(
                    "--topic '\(text)': 1 to \(Self.partitionLimit) partitions, of some 5 MB each"
                )
            }
            return (KafkaTopic(String(name)), partitions)
        }
    }

    /// Kafka's own rule (`org.apache.kafka.common.internals.Topic`); librdkafka does not have it.
    private static func isTopicName(_ text: Substring) -> Bool {
        (1...249).contains(text.utf8.count) && text != "." && text != ".."
            && text.allSatisfy { character in
                character.isASCII
                    && (character.isLetter || character.isNumber || "._-".contains(character))
            }
    }

    func run() async throws {
        let kafka = try EmbeddedKafka(brokers: brokers)
        for (topic, partitions) in try newTopics() {
            try kafka.createTopic(topic, partitions: partitions)
        }
        // Whoever reads that it is ready may end it at once.
        let signals = await Signals()
        Terminal.print(#"{"bootstrap_servers":"\#(kafka.bootstrapServers)"}"#)
        // Reading blocks, so it has a thread of its own; the process's end ends it.
        Thread.detachNewThread {
            while let line = readLine() {
                let isDone = KafkaFault(line)?.apply(to: kafka) ?? false
                Terminal.print(#"{"done":\#(isDone)}"#)
            }
        }
        await signals.untilTermination()
        Terminal.end(.success)
    }
}
