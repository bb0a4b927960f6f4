import Commands
import Foundation
import Service
import Vocabulary

enum LoadCommand {
    static let command = Command(
        "load",
        "Produce events to a topic at a steady rate.",
        text: """
            Runs until --count events or SIGTERM. The events are valid alerts for invented device \
            tokens. Of every thousand, --unhappy have tokens with the prefixes in \
            examples/demo-scenario.json; a simulator with that scenario answers them with 410, \
            400, 429 or 503.

            Prints one line of JSON every 10 seconds and at the end: how many events Kafka \
            acknowledged, and how many it refused.
            """,
        parameters: [topic, rate, count],
        furtherParameters: [
            "Kafka": [bootstrapServers, property],
            "Events": [bundleID, devices, unhappy],
        ],
        examples: ["Produce 1000 events in 10 seconds": "heliograph-lab load --count 1000"],
        exitCodes: [
            0: "Kafka acknowledged every event.",
            1: "Kafka refused an event, or could not be reached.",
        ]
    ) { arguments in
        await produce(
            LoadRun(
                bootstrapServers: arguments[bootstrapServers],
                properties: Dictionary(arguments[property], uniquingKeysWith: { $1 }),
                topic: KafkaTopic(arguments[topic]),
                events: LoadEvents(
                    bundleID: arguments[bundleID],
                    devices: arguments[devices],
                    unhappy: arguments[unhappy]
                ),
                rate: arguments[rate],
                count: arguments[count]
            )
        )
    }

    private static let bootstrapServers = Option.defaulted(
        "bootstrap-servers",
        .text("servers"),
        to: "localhost:9092",
        help: "Kafka's brokers, as host:port,..."
    )
    private static let topic = Option.defaulted(
        "topic",
        .text("topic"),
        to: "notifications",
        help: "The topic to produce to."
    )
    private static let rate = Option.defaulted(
        "rate",
        .integer(1...100_000, "rate"),
        to: 100,
        help: "Events per second, from 1 to 100000."
    )
    private static let count = Option.optional(
        "count",
        .integer(1...Int.max, "count"),
        help: "How many events to produce; by default, until SIGTERM."
    )
    private static let devices = Option.defaulted(
        "devices",
        .integer(1...Int.max, "count"),
        to: 10_000,
        help: "How many devices the events are for, in turn."
    )
    private static let unhappy = Option.defaulted(
        "unhappy",
        .integer(0...1000, "count"),
        to: 20,
        help: "How many of every 1000 events APNs refuses, from 0 to 1000."
    )
    private static let bundleID = Option.defaulted(
        "bundle-id",
        .text("id"),
        to: "com.example.News",
        help: "The app that the events are for."
    )
    private static let property = Option.repeatable(
        "property",
        ValueType("<name>=<value>", expected: "<name>=<value>", read: property(_:)),
        help: "A property of librdkafka."
    )

    private static func property(_ text: String) -> (String, String)? {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : nil
    }

    private static func produce(_ run: LoadRun) async -> Never {
        let signals = Task {
            await ProcessSignals.catching([.terminate, .interrupt]).untilDrain()
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
