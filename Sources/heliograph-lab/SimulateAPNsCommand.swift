import APNsSimulator
import Commands
import Foundation
import HTTP2IO
import HTTP2Peer
import JSON
import Service

enum SimulateAPNsCommand {
    static let command = Command(
        "simulate-apns",
        "Run a strict APNs simulator until SIGTERM.",
        text: """
            Prints one line of JSON when it is ready: its URLs, the CA that signed its \
            certificate, and a signing key that it accepts. See docs/simulator.md.
            """,
        parameters: [writeCA, writeKey, scenario, controlPort, rememberDevices],
        furtherParameters: [
            "Addresses": [
                productionPort, sandboxPort, productionChannelsPort, sandboxChannelsPort, listen,
                hostName,
            ],
            "Credentials": [keys, writeCertificate, certificateBundleID],
            "Logs": [requestLog, timingLog],
        ],
        examples: [
            "Pick free ports and print them":
                "heliograph-lab simulate-apns --write-ca ca.pem --write-key key.p8"
        ],
        exitCodes: [
            0: "Stopped by a signal.",
            1: "Could not start; standard error says why.",
        ]
    ) { arguments in
        do {
            let keys = try SimulatedKeys(arguments[keys])
            let simulator = try start(keys, arguments)
            var control: UInt16?
            if let port = arguments[controlPort] {
                control = try ControlServer.start(port: port, simulator: simulator)
            }
            // Signals first: a program that reads the ready line may send one at once.
            let signals = ProcessSignals.catching([.terminate, .interrupt])
            try introduce(simulator, keys, control, arguments)
            await signals.untilDrain()
            simulator.stop()
            Terminal.end(.success)
        } catch {
            Terminal.complain("\(error)")
            Terminal.end(.failure)
        }
    }

    // MARK: - Options

    private static let scenario = Option.optional(
        "scenario",
        .file,
        help: "How device tokens behave (JSON); see docs/simulator.md."
    )
    private static let requestLog = Option.optional(
        "request-log",
        .file,
        help: "Write a line of JSON per request, with device tokens: for tests."
    )
    private static let timingLog = Option.optional(
        "timing-log",
        .file,
        help: """
            Write a line of JSON per answer, with its time and the device token: for tests.
            """
    )
    private static let writeCA = Option.required(
        "write-ca",
        .file,
        help: "Write the CA's certificate (PEM) to this file."
    )
    private static let writeKey = Option.required(
        "write-key",
        .file,
        help: "Write the signing key (.p8) to this file."
    )
    private static let keys = Option.optional(
        "keys",
        .file,
        help: "More signing keys (JSON); missing key files are created."
    )
    private static let writeCertificate = Option.optional(
        "write-certificate",
        .file,
        help: "Write a client certificate and its key (PEM) to this file."
    )
    private static let certificateBundleID = Option.defaulted(
        "certificate-bundle-id",
        .text("id"),
        to: "com.example.app",
        help: "The bundle ID of the client certificate."
    )
    private static let productionPort = Option.defaulted(
        "production-port",
        port,
        to: 0,
        help: "The port of the production host; 0 picks a free one."
    )
    private static let sandboxPort = Option.defaulted(
        "sandbox-port",
        port,
        to: 0,
        help: "The port of the sandbox host; 0 picks a free one."
    )
    private static let productionChannelsPort = Option.defaulted(
        "production-channels-port",
        port,
        to: 0,
        help: "The port for production channels (Apple's is 2196); 0 picks a free one."
    )
    private static let sandboxChannelsPort = Option.defaulted(
        "sandbox-channels-port",
        port,
        to: 0,
        help: "The port for sandbox channels (Apple's is 2195); 0 picks a free one."
    )
    private static let listen = Option.defaulted(
        "listen",
        ValueType("address", expected: "an IPv4 or IPv6 address") { text in
            SocketAddress(numeric: text, port: 0) == nil ? nil : text
        },
        to: "127.0.0.1",
        help: "The address of these four ports; the control port is on 127.0.0.1."
    )
    private static let hostName = Option.repeatable(
        "host-name",
        .text("name"),
        help: "Another host name in the certificate; the first is used in the URLs."
    )
    private static let controlPort = Option.optional(
        "control-port",
        port,
        help: """
            Serve the control endpoint on this port of 127.0.0.1; 0 picks a free one.
            """
    )
    private static let rememberDevices = Option.defaulted(
        "remember-devices",
        .integer(0...1_000_000, "count"),
        to: 0,
        help: "Devices whose notifications the control endpoint keeps, up to 1000000."
    )

    private static let port = ValueType<UInt16>.integer(0...UInt16.max, "port")

    // MARK: - The simulator

    private static func start(
        _ keys: SimulatedKeys,
        _ arguments: Arguments
    ) throws -> RunningSimulator {
        func address(_ port: Parameter<UInt16>) -> SocketAddress? {
            SocketAddress(numeric: arguments[listen], port: arguments[port])
        }
        var configuration = SimulatorConfiguration()
        configuration.production = address(productionPort)
        configuration.sandbox = address(sandboxPort)
        configuration.names += arguments[hostName]
        configuration.productionChannels = address(productionChannelsPort)
        configuration.sandboxChannels = address(sandboxChannelsPort)
        configuration.keys = keys.registered
        configuration.rememberedDevices = arguments[rememberDevices]
        if let scenario = arguments[scenario] {
            guard let text = FileManager.default.contents(atPath: scenario) else {
                throw DemoError("scenario file '\(scenario)' cannot be read")
            }
            configuration.scenario = try ScenarioFile.parse(Array(text))
        }
        configuration.requestLog = try opened(arguments[requestLog], "request log")
        configuration.timingLog = try opened(arguments[timingLog], "timing log")
        return try APNsSimulator(configuration).start()
    }

    private static func opened(_ path: String?, _ name: String) throws -> Int32? {
        guard let path else { return nil }
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DemoError("\(name) '\(path)' cannot be opened") }
        return descriptor
    }

    private static func introduce(
        _ simulator: RunningSimulator,
        _ keys: SimulatedKeys,
        _ control: UInt16?,
        _ arguments: Arguments
    ) throws {
        guard let ca = simulator.caPEM else { return }
        let certificate = arguments[writeCertificate]
        try LabFile.write(ca, to: arguments[writeCA], named: "--write-ca")
        try LabFile.write(
            keys.ownPEM,
            to: arguments[writeKey],
            named: "--write-key",
            isSecret: true
        )
        if let certificate {
            try writeClientCertificate(to: certificate, for: arguments[certificateBundleID])
        }
        let host = arguments[hostName].first ?? "localhost"
        func url(_ port: UInt16?) -> String { "https://\(host):\(port ?? 0)" }
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("production", url(simulator.ports.production)),
            ("sandbox", url(simulator.ports.sandbox)),
            ("production_channels", url(simulator.ports.productionChannels)),
            ("sandbox_channels", url(simulator.ports.sandboxChannels)),
            ("control", control.map { "http://127.0.0.1:\($0)" }),
            ("ca_file", arguments[writeCA]), ("key_file", arguments[writeKey]),
            ("key_id", SimulatedKeys.ownKeyID), ("team_id", SimulatedKeys.ownTeamID),
            ("certificate_file", certificate),
        ] {
            guard let value else { continue }
            writer.name(name)
            writer.string(value)
        }
        writer.endObject()
        Terminal.print(String(decoding: writer.bytes, as: UTF8.self))
    }

    private static func writeClientCertificate(
        to path: String,
        for bundleID: String
    ) throws {
        let identity = EphemeralAuthority().providerIdentity(
            bundleID: bundleID,
            topics: [bundleID, bundleID + ".voip", bundleID + ".complication"]
        )
        let pem = identity.certificateChainPEM + identity.privateKeyPEM
        try LabFile.write(pem, to: path, named: "--write-certificate", isSecret: true)
    }
}
