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
    /// So many that the embedded Kafka, which keeps 5 MB per partition, keeps every outcome of a
    /// campaign.
    private static let partitionsOfManyResults = 16
    /// The bundle IDs of the demo's own events; the last is the topic of device management.
    static let bundleIDs = ["com.example.News", "com.example.Chat", "com.apple.mgmt.*"]

    /// What the demo of a campaign needs in addition.
    struct Campaign: Sendable {
        /// The topic of the orders.
        let topic: KafkaTopic
        /// `limits.in_flight_events`.
        let inFlight: Int
        /// The admin port's.
        let password: String

        /// The delays of the retry topics, in which paused events wait.
        fileprivate static let delays = ["1s", "5s"]
    }

    let kafka: EmbeddedKafka
    let simulator: RunningSimulator
    let configuration: Configuration
    private let folder: String

    /// Starts Kafka and APNs, and configures the service for them.
    init(
        scenario: Scenario,
        bundleIDs: [String],
        adminPort: UInt16,
        logLevel: String,
        campaign: Campaign? = nil
    ) throws {
        kafka = try EmbeddedKafka()
        let delays = campaign == nil ? [] : Campaign.delays
        let topics = ["", ".token-status", ".dead-letters"] + delays.map { ".retry.\($0)" }
        for topic in topics {
            try kafka.createTopic(
                KafkaTopic(Self.source.name + topic),
                partitions: Self.partitions
            )
        }
        try kafka.createTopic(
            Self.results,
            partitions: campaign == nil ? Self.partitions : Self.partitionsOfManyResults
        )
        if let campaign { try kafka.createTopic(campaign.topic, partitions: 1) }
        var simulation = SimulatorConfiguration()
        simulation.scenario = scenario
        simulator = try APNsSimulator(simulation).start()
        folder = try Self.makeFolder()
        configuration = try Self.configure(
            kafka,
            simulator,
            folder: folder,
            bundleIDs: bundleIDs,
            adminPort: adminPort,
            logLevel: logLevel,
            campaign: campaign
        )
    }

    /// Reads the scenario of the simulated APNs.
    static func scenario(in file: String) throws -> Scenario {
        guard let text = FileManager.default.contents(atPath: file) else {
            throw DemoError("scenario file '\(file)' cannot be read")
        }
        return try ScenarioFile.parse(Array(text))
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
        logLevel: String,
        campaign: Campaign?
    ) throws -> Configuration {
        guard let ca = simulator.caPEM, let key = simulator.signingKey,
            let production = simulator.productionPort, let sandbox = simulator.sandboxPort
        else { throw DemoError("the simulator did not start") }
        let patterns = bundleIDs.map { "\"\($0)\"" }.joined(separator: ", ")
        try Data(ca).write(to: URL(filePath: folder + "/ca.pem"))
        try LabFile.write(key.pem, to: folder + "/key.p8", named: "key", isSecret: true)
        var yaml = """
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
            shards: 1
            log: {level: \(logLevel), format: text}

            """
        if let campaign {
            let file = folder + "/password"
            try Data(campaign.password.utf8).write(to: URL(filePath: file))
            yaml += """
                retry: {later: [\(Campaign.delays.joined(separator: ", "))]}
                admin: {host: 127.0.0.1, port: \(adminPort), bearer_token_file: \(file)}
                campaigns: {topic: \(campaign.topic)}
                limits: {in_flight_events: \(campaign.inFlight)}
                """
        } else {
            yaml += """
                retry: {later: []}
                admin: {host: 127.0.0.1, port: \(adminPort)}
                """
        }
        return try Configuration(yaml: yaml, fileName: "the demo's configuration")
    }
}
