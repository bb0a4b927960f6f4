package import HTTPServer

/// The admin port: health, metrics and the status page over HTTP/1.1.
///
/// It has a thread of its own, so that `/live` is answered even if the process is busy. See
/// `HTTPServer` for the limits on peers.
package struct AdminServer: Sendable {
    private let address: HTTPAddress
    private let state: AdminState
    private let access: AdminAccess
    private let identity: @Sendable () -> ServerIdentity?
    private let onTrouble: @Sendable (String) -> Void

    /// - Parameters:
    ///   - host: An IP address, or `localhost`.
    ///   - port: 0 selects a free port.
    ///   - state: The data for the answers.
    ///   - access: Who may see them.
    ///   - identity: The certificate for TLS; nil: no TLS.
    ///   - onTrouble: Called with the reason if no peer can be accepted, at most once a minute.
    package init(
        host: String,
        port: UInt16,
        state: AdminState,
        access: AdminAccess,
        identity: @escaping @Sendable () -> ServerIdentity? = { nil },
        onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        address = HTTPAddress(host: host, port: port)
        self.state = state
        self.access = access
        self.identity = identity
        self.onTrouble = onTrouble
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: Called once with the address where the server listens.
    /// - Throws: If it cannot listen there.
    package func run(
        onListening: @escaping @Sendable (HTTPAddress) -> Void = { _ in }
    ) async throws(AdminServerError) {
        let server: HTTPServer
        do throws(HTTPServerError) {
            let routes = AdminRoutes(state: state, access: access)
            server = try HTTPServer(
                address,
                name: "admin",
                identity: identity,
                onTrouble: onTrouble,
                handler: { routes.answer(to: $0) }
            )
        } catch {
            throw AdminServerError(error)
        }
        onListening(server.address)
        await server.serve()
    }
}

/// Why the admin port cannot serve.
package struct AdminServerError: Error, Hashable, Sendable, CustomStringConvertible {
    private let failure: HTTPServerError

    package init(_ failure: HTTPServerError) {
        self.failure = failure
    }

    package var description: String {
        switch failure {
        case .addressInUse: "admin.port: \(failure); set another port, or 0 for any free one"
        case .notAnAddress: "admin.host: \(failure)"
        case .failed: "admin.port: \(failure)"
        }
    }
}
