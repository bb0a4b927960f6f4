import ArgumentParser
import Foundation
import KafkaIO
import Vocabulary

struct KafkaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kafka",
        abstract: "Run the embedded Kafka in a process of its own, until SIGTERM.",
        discussion: """
            Prints one line of JSON when it is ready: {"bootstrap_servers": "host:port"}. It is
            librdkafka's mock cluster: it keeps about 5 MB a partition, and nothing over a restart.
            """
    )

    @Option(help: "Brokers.")
    var brokers = 1

    @Option(help: "A topic to make, as NAME or NAME:PARTITIONS; may be given often.")
    var topic: [String] = []

    func run() async throws {
        let kafka = try EmbeddedKafka(brokers: brokers)
        for text in topic {
            let parts = text.split(separator: ":", maxSplits: 1)
            let partitions = parts.count > 1 ? Int(parts[1]) : 4
            guard let name = parts.first, let partitions, partitions > 0 else {
                throw ValidationError("'\(text)' is not NAME or NAME:PARTITIONS")
            }
            try kafka.createTopic(KafkaTopic(String(name)), partitions: partitions)
        }
        Terminal.print(#"{"bootstrap_servers":"\#(kafka.bootstrapServers)"}"#)
        await Signals.untilTermination()
        Terminal.end(.success)
    }
}
