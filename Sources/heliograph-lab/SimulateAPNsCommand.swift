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
            Prints one line of JSON when it is ready: its URLs, the CA that its certificate is \
            signed by, and a signing key that it accepts. docs/simulator.md tells the rest.
            """
    )

    @Option(help: "How device tokens behave (JSON); see docs/simulator.md.")
    var scenario: String?

    @Option(help: "A file for a line of JSON per request. It names device tokens: for tests.")
    var requestLog: String?

    @Option(
        help:
            "A file for a line of JSON per answer: how long it took. It names device tokens: for tests."
    )
    var timingLog: String?

    @Option(help: "Where to write the CA's certificate (PEM).")
    var writeCa: String

    @Option(help: "Where to write the signing key (.p8).")
    var writeKey: String

    @Option(help: "Further signing keys (JSON); those that do not exist are made.")
    var keys: String?

    @Option(help: "Where to write a client certificate with its key (PEM).")
    var writeCertificate: String?

    @Option(help: "The bundle ID that the client certificate is for.")
    var certificateBundleId = "com.example.app"

    @Option(help: "The port of the production host; 0 is a free one.")
    var productionPort: UInt16 = 0

    @Option(help: "The port of the sandbox host; 0 is a free one.")
    var sandboxPort: UInt16 = 0

    @Option(help: "The port for channels of production (Apple's is 2196); 0 is a free one.")
    var productionChannelsPort: UInt16 = 0

    @Option(help: "The port for channels of the sandbox (Apple's is 2195); 0 is a free one.")
    var sandboxChannelsPort: UInt16 = 0

    @Option(help: "The address that the four ports are opened on; the control port never is.")
    var listen = "127.0.0.1"

    @Option(help: "A further host name in the certificate; may be given often.")
    var hostName: [String] = []

    @Option(help: "The control endpoint's port on 127.0.0.1; 0 is a free one. Without: none.")
    var controlPort: UInt16?

    @Option(help: "How many devices' notifications to keep for the control endpoint.")
    var rememberDevices = 0

    func validate() throws {
        guard (0...1_000_000).contains(rememberDevices) else {
            throw ValidationError("--remember-devices: 0 to 1000000")
        }
        guard SocketAddress(numeric: listen, port: 0) != nil else {
            throw ValidationError("--listen: an IPv4 or IPv6 address")
        }
    }

    func run() async throws {
        do {
            let keys = try SimulatedKeys(keys)
            let simulator = try start(keys)
            var control: UInt16?
            if let controlPort {
                control = try await ControlServer(port: controlPort, simulator: simulator).start()
            }
            // Whoever reads that it is ready may end it at once.
            let signals = await Signals()
            try introduce(simulator, keys, control)
            await signals.untilTermination()
            simulator.stop()
            Terminal.end(.success)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }

    private func start(_ keys: SimulatedKeys) throws -> RunningSimulator {
        var configuration = SimulatorConfiguration()
        configuration.production = SocketAddress(numeric: listen, port: productionPort)
        configuration.sandbox = SocketAddress(numeric: listen, port: sandboxPort)
        configuration.names += hostName
        configuration.productionChannels = SocketAddress(
            numeric: listen,
            port: productionChannelsPort
        )
        configuration.sandboxChannels = SocketAddress(numeric: listen, port: sandboxChannelsPort)
        configuration.keys = keys.registered
        configuration.rememberedDevices = rememberDevices
        if let scenario {
            guard let text = FileManager.default.contents(atPath: scenario) else {
                throw DemoError("scenario file '\(scenario)' cannot be read")
            }
            configuration.scenario = try ScenarioFile.parse(Array(text))
        }
        configuration.requestLog = try opened(requestLog, "request log")
        configuration.timingLog = try opened(timingLog, "timing log")
        return try APNsSimulator(configuration).start()
    }

    private func opened(_ path: String?, _ name: String) throws -> Int32? {
        guard let path else { return nil }
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DemoError("\(name) '\(path)' cannot be opened") }
        return descriptor
    }

    private func introduce(
        _ simulator: RunningSimulator,
        _ keys: SimulatedKeys,
        _ control: UInt16?
    ) throws {
        guard let ca = simulator.caPEM else { return }
        try LabFile.write(ca, to: writeCa, named: "--write-ca")
        try LabFile.write(keys.ownPEM, to: writeKey, named: "--write-key")
        try writeClientCertificate()
        let host = hostName.first ?? "localhost"
        func url(_ port: UInt16?) -> String { "https://\(host):\(port ?? 0)" }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("production", url(simulator.ports.production)),
            ("sandbox", url(simulator.ports.sandbox)),
            ("production_channels", url(simulator.ports.productionChannels)),
            ("sandbox_channels", url(simulator.ports.sandboxChannels)),
            ("control", control.map { "http://127.0.0.1:\($0)" }),
            ("ca_file", writeCa), ("key_file", writeKey), ("key_id", SimulatedKeys.ownKeyID),
            ("team_id", SimulatedKeys.ownTeamID), ("certificate_file", writeCertificate),
        ] {
            guard let value else { continue }
            writer.name(name)
            writer.string(value)
        }
        writer.endObject()
        Terminal.print(String(decoding: writer.bytes, as: UTF8.self))
    }

    private func writeClientCertificate() throws {
        guard let writeCertificate else { return }
        let identity = EphemeralAuthority().providerIdentity(
            bundleID: certificateBundleId,
            topics: [
                certificateBundleId, certificateBundleId + ".voip",
                certificateBundleId + ".complication",
            ]
        )
        let pem = identity.certificateChainPEM + identity.privateKeyPEM
        try LabFile.write(pem, to: writeCertificate, named: "--write-certificate")
    }
}
