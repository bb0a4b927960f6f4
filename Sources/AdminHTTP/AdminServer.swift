import CLinux
import Foundation
import Glibc

/// The admin port: health, metrics and the status page over HTTP/1.1.
///
/// It has a thread of its own, so that `/live` is answered however busy the rest of the process is.
/// See `AdminLoop` for what peers may do, and `docs/decisions/0019-own-admin-server.md` for why.
package struct AdminServer: Sendable {
    private let address: AdminAddress
    private let state: AdminState
    private let limits: Limits
    private let onTrouble: @Sendable (String) -> Void

    /// What one peer, and all of them, may ask of the server.
    package struct Limits: Hashable, Sendable {
        /// Connections at one time; one more takes the place of the oldest.
        package var maxConnections = 64
        /// How long a request and its answer may take, from the first byte to the last.
        package var maxExchange = Duration.seconds(5)
        /// How long a peer may rest between two requests: a scraper keeps its connection.
        package var maxRest = Duration.seconds(150)

        package init() {}
    }

    /// - Parameters:
    ///   - host: An IP address, or `localhost`.
    ///   - port: 0 is a free one.
    ///   - state: What the answers are made of.
    ///   - limits: The standard ones, but for tests.
    ///   - onTrouble: Told why no peer can be let in, once a minute at most.
    package init(
        host: String,
        port: UInt16,
        state: AdminState,
        limits: Limits = Limits(),
        onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        address = AdminAddress(host: host, port: port)
        self.limits = limits
        self.state = state
        self.onTrouble = onTrouble
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: Told once where the server listens.
    /// - Throws: When it cannot listen there.
    package func run(
        onListening: @escaping @Sendable (AdminAddress) -> Void = { _ in }
    ) async throws(AdminServerError) {
        let listener = try ListeningSocket.open(address)
        let stop = eventfd(0, Int32(EFD_CLOEXEC))
        guard stop >= 0 else {
            let error = AdminServerError(errno, address)
            close(listener.descriptor)
            throw error
        }
        onListening(listener.address)
        let (routes, limits, onTrouble) = (AdminRoutes(state: state), limits, onTrouble)
        await withTaskCancellationHandler {
            await Self.onThread {
                AdminLoop(
                    routes: routes,
                    limits: limits,
                    listener: listener.descriptor,
                    stop: stop,
                    onTrouble: onTrouble
                ).run()
            }
        } onCancel: {
            _ = eventfd_write(stop, 1)
        }
        close(stop)
    }

    /// Runs `body` on a thread of its own; the cooperative pool has none to give away.
    private static func onThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                // Set from inside, or the system does not know it.
                Thread.current.name = "admin"
                body()
                continuation.resume()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
    }
}

/// Where the admin port listens.
package struct AdminAddress: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// Why the admin port does not serve.
package enum AdminServerError: Error, Hashable, Sendable, CustomStringConvertible {
    case notAnAddress(String)
    case addressInUse(AdminAddress)
    case failed(AdminAddress, cause: String)

    /// Of a call's `errno`.
    init(_ code: Int32, _ address: AdminAddress) {
        self =
            code == EADDRINUSE
            ? .addressInUse(address)
            : .failed(address, cause: unsafe String(cString: strerror(code)))
    }

    package var description: String {
        switch self {
        case .notAnAddress(let host):
            "admin port: '\(host)' is neither an IP address nor localhost"
        case .addressInUse(let address):
            "admin port: \(address) is in use by another process; set admin.port, 0 is a free one"
        case .failed(let address, let cause): "admin port: cannot serve on \(address): \(cause)"
        }
    }
}
