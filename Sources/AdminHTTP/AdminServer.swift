import FlyingFox
import FlyingSocks
import Glibc

/// The admin port: health, metrics and the status page over HTTP/1.1.
///
/// Bounded: connections that wait (64), each wait for a peer (10 s), the time of an answer (5 s).
/// FlyingFox does not bound the length of a request's head or body, nor the time that a peer takes
/// which sends a byte now and then; keep the port inside the cluster.
package struct AdminServer: Sendable {
    private let host: String
    private let port: UInt16
    private let state: AdminState
    private let limits: Limits

    /// What one peer, and all of them, may ask of the server.
    package struct Limits: Hashable, Sendable {
        /// Peers that the server waits for at one time.
        package var maxWaiting = 64
        /// How long it waits for one of them to send or to read.
        package var maxWait = Duration.seconds(10)

        package init() {}
    }

    /// - Parameters:
    ///   - host: An IP address, or `localhost`.
    ///   - port: 0 is a free one.
    ///   - state: What the answers are made of.
    ///   - limits: The standard ones, but for tests.
    package init(host: String, port: UInt16, state: AdminState, limits: Limits = Limits()) {
        self.host = host
        self.port = port
        self.limits = limits
        self.state = state
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: Told once where the server listens.
    /// - Throws: When it cannot listen there, or cannot go on.
    package func run(
        onListening: @escaping @Sendable (AdminAddress) -> Void = { _ in }
    ) async throws(AdminServerError) {
        let server = HTTPServer(config: try configuration(), handler: handler)
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await server.run() }
                group.addTask {
                    try await server.waitUntilListening(timeout: Self.startSeconds)
                    if let address = await AdminAddress(server.listeningAddress) {
                        onListening(address)
                    }
                }
                defer { group.cancelAll() }
                // One of the two is done once it listens, the other when serving ends.
                try await group.next()
                try await group.next()
            }
        } catch {
            guard !Task.isCancelled else { return }
            throw AdminServerError(error, address: AdminAddress(host: host, port: port))
        }
    }

    private var handler: some HTTPHandler { BodylessHead(base: AdminRoutes(state: state)) }

    private static let answerSeconds = 5.0
    private static let startSeconds = 60.0

    private func configuration() throws(AdminServerError) -> HTTPServer.Configuration {
        let pool = BoundedSocketPool(
            .ePoll(),
            maxWaiting: limits.maxWaiting,
            maxWait: limits.maxWait
        )
        let address = host == "localhost" ? "127.0.0.1" : host
        if let address = try? sockaddr_in.inet(ip4: address, port: port) {
            return HTTPServer.Configuration(
                address: address,
                timeout: Self.answerSeconds,
                pool: pool,
                logger: .disabled
            )
        }
        if let address = try? sockaddr_in6.inet6(ip6: address, port: port) {
            return HTTPServer.Configuration(
                address: address,
                timeout: Self.answerSeconds,
                pool: pool,
                logger: .disabled
            )
        }
        throw .notAnAddress(host)
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

    init?(_ address: Socket.Address?) {
        switch address {
        case .ip4(let host, let port), .ip6(let host, let port): self.init(host: host, port: port)
        case .unix, nil: return nil
        }
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

    init(_ error: any Error, address: AdminAddress) {
        switch error {
        case let error as AdminServerError: self = error
        case SocketError.failed(_, EADDRINUSE, _): self = .addressInUse(address)
        case SocketError.failed(_, _, let message): self = .failed(address, cause: message)
        default: self = .failed(address, cause: "\(error)")
        }
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
