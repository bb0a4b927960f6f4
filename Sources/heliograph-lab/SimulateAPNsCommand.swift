import APNsSimulator
import ArgumentParser
import Foundation
import HTTP2IO
import JSON

struct SimulateAPNsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate-apns",
        abstract: "Run a strict APNs on this machine until SIGTERM.",
        discussion: """
            Prints one line of JSON when it is ready: its URLs, the CA that its certificate is
            signed by, and a signing key that it accepts. docs/simulator.md tells the rest.
            """
    )

    @Option(help: "How device tokens behave (JSON); see docs/simulator.md.")
    var scenario: String?

    @Option(help: "A file for a line of JSON per request. It names device tokens: for tests.")
    var requestLog: String?

    @Option(help: "Where to write the CA's certificate (PEM).")
    var writeCa: String

    @Option(help: "Where to write the signing key (.p8).")
    var writeKey: String

    @Option(help: "A further key to accept, as KEYID:TEAMID:FILE with its .p8 file; repeatable.")
    var acceptKey: [String] = []

    @Option(help: "The port of the production host; 0 is a free one.")
    var productionPort: UInt16 = 0

    @Option(help: "The port of the sandbox host; 0 is a free one.")
    var sandboxPort: UInt16 = 0

    func run() async throws {
        do {
            let simulator = try start()
            await Signals.untilTermination()
            simulator.stop()
            Terminal.end(.success)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }

    private func start() throws -> RunningSimulator {
        var configuration = SimulatorConfiguration()
        configuration.production = .loopback(port: productionPort)
        configuration.sandbox = .loopback(port: sandboxPort)
        configuration.furtherKeys = try acceptKey.map(Self.key)
        if let scenario {
            guard let text = FileManager.default.contents(atPath: scenario) else {
                throw DemoError("scenario file '\(scenario)' cannot be read")
            }
            configuration.scenario = try ScenarioFile.parse(Array(text))
        }
        if let requestLog {
            let descriptor = unsafe open(
                requestLog,
                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                0o600
            )
            guard descriptor >= 0 else {
                throw DemoError("request log '\(requestLog)' cannot be opened")
            }
            configuration.requestLog = descriptor
        }
        let simulator = try APNsSimulator(configuration).start()
        try introduce(simulator)
        return simulator
    }

    private static func key(_ text: String) throws -> RegisteredKey {
        let parts = text.split(separator: ":", maxSplits: 2).map(String.init)
        guard parts.count == 3, let pem = FileManager.default.contents(atPath: parts[2]) else {
            throw DemoError("'\(text)' is no KEYID:TEAMID:FILE with a readable file")
        }
        return RegisteredKey(
            keyID: parts[0],
            teamID: parts[1],
            publicKeyPEM: try ES256Signer(pem: Array(pem)).publicKeyPEM
        )
    }

    private func introduce(_ simulator: RunningSimulator) throws {
        guard let ca = simulator.caPEM, let key = simulator.signingKey else { return }
        try Data(ca).write(to: URL(filePath: writeCa))
        try Data(key.pem).write(to: URL(filePath: writeKey))
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("production", "https://localhost:\(simulator.productionPort ?? 0)"),
            ("sandbox", "https://localhost:\(simulator.sandboxPort ?? 0)"),
            ("ca_file", writeCa), ("key_file", writeKey), ("key_id", key.keyID),
            ("team_id", key.teamID),
        ] {
            writer.name(name)
            writer.string(value)
        }
        writer.endObject()
        Terminal.print(String(decoding: writer.bytes, as: UTF8.self))
    }
}
