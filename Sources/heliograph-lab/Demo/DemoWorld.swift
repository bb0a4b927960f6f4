import APNsSimulator
import Configuration
import EmbeddedKafka
import Foundation
import KafkaIO
import Service
import Vocabulary

/// Everything that the demo runs in this process: Kafka, APNs, and the service between them.
final class DemoWorld: Sendable {
    static let source = KafkaTopic("notifications")
    static let results = KafkaTopic("notifications.results")
    private static let partitions = 4
    /// The bundle IDs of the demo's own events; the last is the topic of device management.
    static let bundleIDs = ["com.example.News", "com.example.Chat", "com.apple.mgmt.*"]

    let kafka: EmbeddedKafka
    let simulator: RunningSimulator
    let configuration: Configuration
    private let folder: String

    /// Starts Kafka and APNs, and configures the service for them.
    init(scenario: String, bundleIDs: [String], adminPort: UInt16, logLevel: String) throws {
        kafka = try EmbeddedKafka()
        for topic in ["", ".results", ".token-status", ".dead-letters"] {
            try kafka.createTopic(
                KafkaTopic(Self.source.name + topic),
                partitions: Self.partitions
            )
        }
        var simulation = SimulatorConfiguration()
        guard let text = FileManager.default.contents(atPath: scenario) else {
            throw DemoError("scenario file '\(scenario)' cannot be read")
        }
        simulation.scenario = try ScenarioFile.parse(Array(text))
        simulator = try APNsSimulator(simulation).start()
        folder = try Self.makeFolder()
        configuration = try Self.configure(
            kafka,
            simulator,
            folder: folder,
            bundleIDs: bundleIDs,
            adminPort: adminPort,
            logLevel: logLevel
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private static func makeFolder() throws -> String {
        let url = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-demo-\(UInt64.random(in: 0...UInt64.max))")
        try FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        return url.path
    }

    /// The service's default configuration, except for the addresses of Kafka and APNs.
    private static func configure(
        _ kafka: EmbeddedKafka,
        _ simulator: RunningSimulator,
        folder: String,
        bundleIDs: [String],
        adminPort: UInt16,
        logLevel: String
    ) throws -> Configuration {
        guard let ca = simulator.caPEM, let key = simulator.signingKey,
            let production = simulator.productionPort, let sandbox = simulator.sandboxPort
        else { throw DemoError("the simulator did not start") }
        let patterns = bundleIDs.map { "\"\($0)\"" }.joined(separator: ", ")
        try Data(ca).write(to: URL(filePath: folder + "/ca.pem"))
        try LabFile.write(key.pem, to: folder + "/key.p8", named: "key", isSecret: true)
        let yaml = """
            kafka:
              bootstrap_servers: \(kafka.bootstrapServers)
              group_id: heliograph
              properties: {fetch.wait.max.ms: 10, linger.ms: 1}
            sources:
              - topic: \(source.name)
            apns:
              credentials:
                - name: demo
                  team_id: \(key.teamID)
                  key_id: \(key.keyID)
                  key_file: \(folder)/key.p8
                  bundle_ids: [\(patterns)]
                  environment: production
              endpoints:
                production: https://localhost:\(production)
                sandbox: https://localhost:\(sandbox)
              ca_file: \(folder)/ca.pem
            retry: {later: []}
            shards: 1
            admin: {host: 127.0.0.1, port: \(adminPort)}
            log: {level: \(logLevel), format: text}
            """
        return try Configuration(yaml: yaml, fileName: "the demo's configuration")
    }
}
