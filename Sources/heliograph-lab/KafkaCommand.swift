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
