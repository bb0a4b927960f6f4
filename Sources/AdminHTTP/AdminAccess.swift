import HTTPServer

/// Decides who may see which page of the admin port.
package struct AdminAccess: Sendable {
    private let hosts: AdminHosts
    private let requiresTLS: Bool
    /// Called for each request; nil: no token is required.
    private let tokens: @Sendable () -> AdminTokens?

    package init(
        hosts: AdminHosts,
        requiresTLS: Bool = false,
        tokens: @escaping @Sendable () -> AdminTokens? = { nil }
    ) {
        self.hosts = hosts
        self.requiresTLS = requiresTLS
        self.tokens = tokens
    }

    /// Whether the request uses one of the port's own names.
    func knowsName(in request: HTTPRequest) -> Bool { hosts.admits(request.authority) }

    /// The error for a request that is not a probe; nil: access is granted.
    func refusal(of request: HTTPRequest) -> HTTPResponse? {
        guard knowsName(in: request) else {
            return HTTPResponse(
                .misdirected,
                "this host name is not allowed; add it to admin.hosts\n"
            )
        }
        guard request.isSecure || !requiresTLS else {
            return HTTPResponse(.forbidden, "this port serves TLS only; use https\n")
        }
        guard let tokens = tokens(), !tokens.admit(request["authorization"]) else { return nil }
        var refusal = HTTPResponse(.unauthorized, "bearer token required; see admin.bearer_token\n")
        // The first field is for programs. Browsers support the second one, and ask for a user
        // name, which may be anything, and a password.
        refusal.fields = [
            HTTPField("WWW-Authenticate", "Bearer realm=\"heliograph\""),
            HTTPField("WWW-Authenticate", "Basic realm=\"heliograph\", charset=\"UTF-8\""),
        ]
        return refusal
    }
}
