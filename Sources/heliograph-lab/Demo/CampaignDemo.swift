import APNsSimulator
import EmbeddedKafka
import Foundation
import Log
import Service
import Shard
import Synchronization
import Vocabulary

/// The demo of a campaign: a send to many devices that is paused, resumed at a pace, and cancelled.
struct CampaignDemo {
    let devices: Int
    let keepRunning: Bool
    let adminPort: UInt16
    let logLevel: LogLevel

    /// - Returns: Whether each device has exactly one outcome, and nothing moved during the pause.
    func demonstrate() async throws -> Bool {
        let plan = CampaignPlan(devices: devices)
        let world = try DemoWorld(
            scenario: plan.scenario,
            bundleIDs: DemoWorld.bundleIDs,
            adminPort: adminPort,
            logLevel: logLevel.rawValue,
            campaign: plan.world
        )
        Terminal.print(
            "Kafka (embedded) on \(world.kafka.bootstrapServers), simulated APNs on localhost:"
                + "\(world.simulator.productionPort ?? 0)"
        )
        let service = Task {
            try await Service.Heliograph(world.configuration).run(handlingSignals: false) { port in
                Terminal.print(
                    """
                    status page http://127.0.0.1:\(port)/ (user name: any, password: \
                    \(CampaignPlan.password))
                    """
                )
            }
        }
        let run = CampaignRun(world.kafka, plan)
        let ledger = try await follow(run, service)
        if keepRunning {
            Terminal.print("the status page stays; Ctrl-C ends")
            await ProcessSignals.catching([.terminate, .interrupt]).untilDrain()
        }
        // Drains, commits and leaves the group, as after SIGTERM.
        service.cancel()
        let counts = try await service.value
        Terminal.print(
            "service stopped: \(Self.text(counts.terminal)) outcomes acknowledged by Kafka, "
                + "\(Self.text(world.simulator.statistics.requests)) requests seen by APNs"
        )
        Terminal.print(ledger.sum)
        return ledger.isRight && run.isStill
    }

    /// Follows the campaign on its own thread, until it has ended or the service has.
    private func follow(
        _ run: CampaignRun,
        _ service: Task<ShardCounts, any Error>
    ) async throws -> CampaignLedger {
        let watch = Task {
            // A service that cannot start ends the demo at once, with the service's own message.
            if case .failure(let error) = await service.result { run.giveUp("\(error)") }
        }
        defer { watch.cancel() }
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try run.untilEnd() })
            }
        }
    }

    /// A number with a comma after every three digits.
    static func text(_ number: Int) -> String {
        let digits = Array(String(number))
        let groups = digits.indices.map { index in
            let isGroupEnd = (digits.count - index - 1).isMultiple(of: 3)
            return String(digits[index]) + (isGroupEnd && index < digits.count - 1 ? "," : "")
        }
        return groups.joined()
    }
}

/// What the demo of a campaign sends, and how fast.
struct CampaignPlan: Sendable {
    /// For the admin port: the status page has buttons only if a token is needed.
    static let password = "the-password-of-the-demo"
    static let campaign = "spring-sale"
    static let topic = KafkaTopic("notifications.campaigns")
    /// How many devices an event has.
    private static let recipients = 500
    /// How long APNs takes for an answer, in milliseconds.
    private static let latency = 100

    let devices: Int
    private let run = UInt32.random(in: 0...UInt32.max)

    /// The pace after the pause, in notifications a second.
    var perSecond: Int { devices / 20 }

    var eventCount: Int { (devices + Self.recipients - 1) / Self.recipients }

    var scenario: Scenario { Scenario(latency: .milliseconds(Self.latency)) }

    /// So few notifications are in flight that the whole send takes about seven seconds.
    var world: DemoWorld.Campaign {
        DemoWorld.Campaign(
            topic: Self.topic,
            inFlight: max(40, devices / 50),
            password: Self.password
        )
    }

    func id(_ event: Int) -> String { "\(Self.campaign)-\(run)-\(event)" }

    /// The event with this ID; nil: it is not the plan's.
    func event(_ id: String) -> Int? {
        let prefix = "\(Self.campaign)-\(run)-"
        guard id.hasPrefix(prefix) else { return nil }
        return Int(id.dropFirst(prefix.count))
    }

    /// The index of a device over all events.
    func device(_ event: Int, recipient: Int) -> Int? {
        let device = event * Self.recipients + recipient
        return (0..<Self.recipients).contains(recipient) && (0..<devices).contains(device)
            ? device : nil
    }

    func value(_ event: Int) -> [UInt8] {
        let first = event * Self.recipients
        let tokens = (first..<min(first + Self.recipients, devices)).map { device in
            let digits = String(device, radix: 16)
            return "\"a11ce000\(String(repeating: "0", count: 56 - digits.count))\(digits)\""
        }
        return Array(
            """
            {"id":"\(id(event))","campaign":"\(Self.campaign)",\
            "recipients":[\(tokens.joined(separator: ","))],\
            "bundle_id":"\(DemoWorld.bundleIDs[0])","push_type":"alert",\
            "payload":{"aps":{"alert":{"title":"Spring sale","body":"Everything must go."}}}}
            """.utf8
        )
    }
}
