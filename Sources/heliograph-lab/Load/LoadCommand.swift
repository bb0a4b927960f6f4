import ArgumentParser
import Foundation
import Vocabulary

struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load",
        abstract: "Produce events to a topic at a steady rate, until --count or SIGTERM.",
        discussion: """
            The events are valid alerts for invented device tokens. Of a thousand, --unhappy go to \
            tokens that begin with the prefixes of examples/demo-scenario.json, so that a simulator \
            with that scenario answers 410, 400, 429 and 503 as well.

            Every 10 seconds, and at the end, it prints one line of JSON: how many events Kafka \
            has acknowledged and how many it has refused. Exits 1 if it refused one.
            """
    )

    @Option(help: "Kafka's brokers.")
    var bootstrapServers = "localhost:9092"

    @Option(help: "The topic to produce to.")
    var topic = "notifications"

    @Option(help: "Events a second, 1 to 100000.")
    var rate = 100

    @Option(help: "How many events to produce; without it, until SIGTERM.")
    var count: Int?

    @Option(help: "How many devices they are for, in turn.")
    var devices = 10_000

    @Option(help: "Of a thousand events, how many are for devices that APNs refuses.")
    var unhappy = 20

    @Option(help: "The app that they are for.")
    var bundleId = "com.example.News"

    @Option(
        name: .customLong("property"),
        help: "A librdkafka property, as NAME=VALUE; repeatable."
    )
    var properties: [String] = []

    func validate() throws {
        guard (1...100_000).contains(rate) else { throw ValidationError("--rate: 1 to 100000") }
        guard devices > 0, count ?? 1 > 0 else {
            throw ValidationError("--devices and --count: at least 1")
        }
        guard (0...1000).contains(unhappy) else { throw ValidationError("--unhappy: 0 to 1000") }
        _ = try clientProperties
    }

    private var clientProperties: [String: String] {
        get throws {
            var known: [String: String] = [:]
            for property in properties {
                let parts = property.split(separator: "=", maxSplits: 1).map(String.init)
                guard parts.count == 2 else {
                    throw ValidationError("--property: '\(property)' is not NAME=VALUE")
                }
                known[parts[0]] = parts[1]
            }
            return known
        }
    }

    func run() async throws {
        let run = LoadRun(
            bootstrapServers: bootstrapServers,
            properties: try clientProperties,
            topic: KafkaTopic(topic),
            events: LoadEvents(bundleID: bundleId, devices: devices, unhappy: unhappy),
            rate: rate,
            count: count
        )
        let signals = Task {
            await Signals.untilTermination()
            run.stop()
        }
        defer { signals.cancel() }
        do {
            let refused = try await withCheckedThrowingContinuation { continuation in
                Thread.detachNewThread { continuation.resume(with: Result { try run.untilEnd() }) }
            }
            Terminal.end(refused == 0 ? .success : .failure)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }
}
