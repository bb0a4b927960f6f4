import APNsSimulator
import Commands
import EmbeddedKafka
import Foundation
import KafkaIO
import Log
import Service
import Shard
import Vocabulary

enum DemoCommand {
    static let command = Command(
        "demo",
        "Run the whole service against stand-ins for Kafka and APNs.",
        text: """
            Publishes a file of events and shows their outcomes.

            Each line of the file is an event, or {"value": EVENT}, {"raw": "..."} or \
            {"base64": "..."} with an optional "expect": {"outcome": "...", "reason": "..."}, or a \
            list of these for an event with 'recipients'. A line without "expect" may have any \
            outcome. In your own file, events may have any bundle ID.

            With --campaign, it sends one notification to many devices instead, and pauses, \
            resumes and cancels that while it runs.
            """,
        parameters: [events, scenario, campaign, devices, keepRunning, adminPort, logLevel],
        examples: [
            "Run the shipped events": "heliograph-lab demo",
            "Keep running, with the status page on port 9464":
                "heliograph-lab demo --keep-running --admin-port 9464",
            "Pause and cancel a send to 100,000 devices": "heliograph-lab demo --campaign",
        ],
        exitCodes: [
            0: """
            Every event, or each of its recipients, has exactly one outcome, and it is the \
            expected one. With --campaign, it is "accepted" or "cancelled", and there was none \
            during the pause.
            """,
            1: "An outcome is missing or unexpected, or the demo could not run.",
        ]
    ) { arguments in
        if arguments[campaign] {
            guard arguments[events] == nil else {
                throw UsageError("--events: --campaign makes its own events; leave one of them out")
            }
            await demonstrateCampaign(arguments)
        }
        guard arguments[devices] == nil else {
            throw UsageError("--devices: needs --campaign")
        }
        let demo = Demo(
            events: arguments[events],
            scenario: arguments[scenario],
            keepRunning: arguments[keepRunning],
            adminPort: arguments[adminPort],
            logLevel: arguments[logLevel]
        )
        do {
            let isRight = try await demo.demonstrate()
            Terminal.end(isRight ? .success : .failure)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }

    private static func demonstrateCampaign(_ arguments: Arguments) async -> Never {
        let demo = CampaignDemo(
            devices: arguments[devices] ?? 100_000,
            keepRunning: arguments[keepRunning],
            adminPort: arguments[adminPort],
            logLevel: arguments[logLevel]
        )
        do {
            Terminal.end(try await demo.demonstrate() ? .success : .failure)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }

    private static let events = Option.optional(
        "events",
        .file,
        help: "Events, one JSON document per line. [default: examples/events.ndjson]"
    )
    private static let scenario = Option.defaulted(
        "scenario",
        .file,
        to: "examples/demo-scenario.json",
        help: "How the simulated APNs behaves; see docs/simulator.md."
    )
    private static let campaign = Option.flag(
        "campaign",
        help: "Show how a send to many devices is paused and cancelled; --scenario has no effect."
    )
    private static let devices = Option.optional(
        "devices",
        .integer(1000...1_000_000, "count"),
        help: "With --campaign: to how many devices, from 1000 to 1000000. [default: 100000]"
    )
    private static let keepRunning = Option.flag(
        "keep-running",
        help: """
            After that, keep producing events (not with --campaign) and serving the admin port \
            until Ctrl-C.
            """
    )
    private static let adminPort = Option.defaulted(
        "admin-port",
        .integer(0...UInt16.max, "port"),
        to: 0,
        help: "The admin port; 0 picks a free one."
    )
    private static let logLevel = Option.defaulted(
        "log-level",
        .choice("level") as ValueType<LogLevel>,
        to: .error,
        help: "The service's log level."
    )
}

/// One run of the demo.
private struct Demo {
    let events: String?
    let scenario: String
    let keepRunning: Bool
    let adminPort: UInt16
    let logLevel: LogLevel

    /// The limit for all events of the file together.
    private static let deadline = Duration.seconds(120)

    /// - Returns: Whether every event had the outcome that its line expects.
    func demonstrate() async throws -> Bool {
        let events = try DemoEvent.read(self.events ?? "examples/events.ndjson")
        let world = try DemoWorld(
            scenario: DemoWorld.scenario(in: scenario),
            bundleIDs: self.events == nil ? DemoWorld.bundleIDs : ["*"],
            adminPort: adminPort,
            logLevel: logLevel.rawValue
        )
        Terminal.print("embedded Kafka on \(world.kafka.bootstrapServers)")
        Terminal.print(
            "simulated APNs on localhost:\(world.simulator.productionPort ?? 0) (production) "
                + "and localhost:\(world.simulator.sandboxPort ?? 0) (sandbox)"
        )
        let service = Task {
            try await Service.Heliograph(world.configuration).run(handlingSignals: false) { port in
                Terminal.print("service started, admin port http://127.0.0.1:\(port)")
            }
        }
        let (ledger, elapsed) = try await follow(events, in: world, service)
        DemoReport(ledger: ledger, elapsed: elapsed, simulator: world.simulator.statistics).print()
        let isRight = judge(ledger)
        if keepRunning { try await keepProducing(world) }
        // Drains, commits and leaves the group, as after SIGTERM.
        service.cancel()
        return judge(try await service.value, ledger) && isRight
    }

    /// Publishes the events and follows them on its own thread until each has its outcome.
    private func follow(
        _ events: [DemoEvent],
        in world: DemoWorld,
        _ service: Task<ShardCounts, any Error>
    ) async throws -> (DemoLedger, Duration) {
        let run = DemoRun(kafka: world.kafka, events: events)
        let watch = Task {
            // A service that cannot start ends the demo at once, with the service's own message.
            if case .failure(let error) = await service.result { run.giveUp("\(error)") }
        }
        defer { watch.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try run.untilComplete(Self.deadline) })
            }
        }
    }

    /// Prints everything that is not as expected.
    private func judge(_ ledger: DemoLedger) -> Bool {
        let surprises = ledger.surprises
        for surprise in surprises.prefix(20) { Terminal.print("NOT AS EXPECTED: \(surprise)") }
        if surprises.count > 20 { Terminal.print("… and \(surprises.count - 20) more") }
        if ledger.strays > 0 { Terminal.print("NOT AS EXPECTED: \(ledger.strays) stray outcomes") }
        let isRight = surprises.isEmpty && ledger.strays == 0
        let tombstones = ledger.lines.count(where: \.isTombstone)
        if isRight {
            let unasked = ledger.lines.count { $0.event.expectations == nil && !$0.isTombstone }
            let (events, outcomes) = (ledger.events, ledger.expected)
            let skipped = tombstones == 0 ? "." : "; \(tombstones) tombstones were skipped."
            Terminal.print(
                unasked == 0
                    ? "All \(events) events got the expected "
                        + (outcomes == events ? "outcome" : "\(outcomes) outcomes") + skipped
                    : "All \(events) events got "
                        + (outcomes == events ? "one outcome" : "their \(outcomes) outcomes")
                        + "; \(unasked) of them have no "
                        + "\"expect\" to compare it with" + skipped
            )
        }
        return isRight
    }

    /// Checks that the service's own counts agree: all events settled, none handed back.
    private func judge(_ counts: ShardCounts, _ ledger: DemoLedger) -> Bool {
        Terminal.print(
            "service stopped: \(counts.consumed) events read (each recipient counts), "
                + "\(counts.terminal) outcomes acknowledged, \(counts.handedBack) events handed back"
        )
        guard !keepRunning else { return true }
        let tombstones = ledger.lines.count(where: \.isTombstone)
        return counts.handedBack == 0 && counts.terminal == ledger.expected
            && counts.consumed == ledger.expected + tombstones
    }

    /// Produces new events: those of the file would now be duplicates, or expired.
    private func keepProducing(_ world: DemoWorld) async throws {
        let rate = 20
        Terminal.print(
            "producing \(rate) fresh events a second; the outcomes are in the status page above; "
                + "Ctrl-C ends"
        )
        let load = LoadRun(
            bootstrapServers: world.kafka.bootstrapServers,
            properties: [:],
            topic: DemoWorld.source,
            events: LoadEvents(bundleID: DemoWorld.bundleIDs[0], devices: 10_000, unhappy: 20),
            rate: rate,
            count: nil,
            isQuiet: true
        )
        let signals = Task {
            await ProcessSignals.catching([.terminate, .interrupt]).untilDrain()
            load.stop()
        }
        defer { signals.cancel() }
        _ = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try load.untilEnd() }) }
        }
    }
}
