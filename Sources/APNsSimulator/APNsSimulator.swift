package import HTTP2IO
import HTTP2Peer
package import SystemIO

/// Why a simulator did not start.
package enum SimulatorError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One of its addresses is in use, or not one of this machine.
    case address(SocketAddress, SystemError)
    case socket(SystemError)
    case tls(TLSError)
    case key(String)

    package var description: String {
        switch self {
        case .address(let address, let error): "cannot listen on \(address): \(error.text)"
        case .socket(let error): "\(error)"
        case .tls(let error): "\(error)"
        case .key(let cause): "a signing key \(cause)"
        }
    }
}

/// A strict simulation of APNs on this machine, with faults from a scenario.
package struct APNsSimulator {
    private let configuration: SimulatorConfiguration

    package init(_ configuration: SimulatorConfiguration = SimulatorConfiguration()) {
        self.configuration = configuration
    }

    /// Listens, and serves on its own thread.
    package func start() throws(SimulatorError) -> RunningSimulator {
        let material = try Material(configuration)
        let doors = try Doors(configuration)
        do throws(SystemError) {
            let ports = doors.ports
            let shared = SimulatorShared(wakeup: try Wakeup())
            let loop = try SimulatorLoop(
                configuration: configuration,
                tls: material.tls,
                judge: material.judge,
                doors: doors,
                shared: shared
            )
            return try RunningSimulator(
                ports: ports,
                caPEM: material.caPEM,
                signingKey: material.signingKey,
                shared: shared,
                loop: loop
            )
        } catch {
            throw .socket(error)
        }
    }
}

/// The private key that a simulator generated for its clients.
package struct SimulatorSigningKey: Hashable, Sendable {
    package let pem: [UInt8]
    package let keyID: String
    package let teamID: String
}

/// A running simulator; it stops when it is deallocated.
package final class RunningSimulator: Sendable {
    package let ports: SimulatorPorts
    /// The root of the generated certificate; nil if a certificate was given.
    package let caPEM: [UInt8]?
    /// nil if keys were given.
    package let signingKey: SimulatorSigningKey?
    private let shared: SimulatorShared

    init(
        ports: SimulatorPorts,
        caPEM: [UInt8]?,
        signingKey: SimulatorSigningKey?,
        shared: SimulatorShared,
        loop: sending SimulatorLoop
    ) throws(SystemError) {
        self.ports = ports
        self.caPEM = caPEM
        self.signingKey = signingKey
        self.shared = shared
        try shared.startThread(loop)
    }

    deinit {
        stop()
    }

    /// nil if that environment was not requested.
    package var productionPort: UInt16? { ports.production }
    package var sandboxPort: UInt16? { ports.sandbox }

    /// Runs a command on the simulator's thread, between two requests.
    package func ask(_ command: SimulatorCommand) async -> SimulatorReply {
        await withCheckedContinuation { continuation in
            ask(command) { continuation.resume(returning: $0) }
        }
    }

    /// Runs a command on the simulator's thread, between two requests, without waiting for it.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - reply: Called once: on the simulator's thread, or on this one if the simulator has
    ///     stopped.
    package func ask(
        _ command: SimulatorCommand,
        reply: @escaping @Sendable (SimulatorReply) -> Void
    ) {
        shared.post(.init(command: command, reply: reply))
    }

    /// The counts so far; a client that has its answer finds it counted.
    package var statistics: SimulatorStatistics { shared.statistics }

    /// Closes all connections and waits for the thread; further calls do nothing.
    package func stop() {
        shared.stop()
    }
}

/// TLS, keys and judge made from a configuration.
private struct Material {
    let tls: TLSContext
    let caPEM: [UInt8]?
    let judge: RequestJudge
    let signingKey: SimulatorSigningKey?

    init(_ configuration: SimulatorConfiguration) throws(SimulatorError) {
        let identity: TLSIdentity
        if let given = configuration.identity {
            (identity, caPEM) = (given, nil)
        } else {
            let authority = EphemeralAuthority()
            identity = authority.serverIdentity(names: configuration.names)
            caPEM = authority.rootPEM
        }
        do throws(TLSError) {
            tls = try TLSContext.server(identity, requestsClientCertificate: true)
        } catch {
            throw .tls(error)
        }
        let keys: [RegisteredKey]
        if let given = configuration.keys {
            (keys, signingKey) = (given, nil)
        } else {
            let made = SimulatorSigningKey(
                pem: EphemeralAuthority.signingKeyPEM(),
                keyID: "ABC123DEFG",
                teamID: "DEF123GHIJ"
            )
            do throws(KeyFileError) {
                let publicKeyPEM = try ES256Signer(pem: made.pem).publicKeyPEM
                keys = [
                    RegisteredKey(
                        keyID: made.keyID,
                        teamID: made.teamID,
                        publicKeyPEM: publicKeyPEM
                    )
                ]
            } catch {
                throw .key(error.description)
            }
            signingKey = made
        }
        do throws(VerifyingKeyError) {
            var judge = try RequestJudge(
                keys: keys,
                scenario: configuration.scenario,
                strictness: configuration.strictness,
                bundleIDs: configuration.bundleIDs
            )
            if configuration.rememberedDevices > 0 {
                judge.devices = DeviceStore(maxDevices: configuration.rememberedDevices)
            }
            self.judge = judge
        } catch {
            throw .key("is \(error)")
        }
    }
}
