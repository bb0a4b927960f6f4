import HTTPServer

/// Who may see which page of the admin port.
package struct AdminAccess: Sendable {
    private let hosts: AdminHosts
    private let requiresTLS: Bool
    /// For each request; nil: no token is requested.
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

    /// Whether the one who asks calls the port by a name that it has.
    func knowsName(in request: HTTPRequest) -> Bool { hosts.admits(request.authority) }

    /// The answer to a request for a page that is not a probe; nil: it may have the page.
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
        // The first is for programs. Browsers know the second, and ask for a user, who may be
        // anybody, and a password.
        refusal.fields = [
            HTTPField("WWW-Authenticate", "Bearer realm=\"heliograph\""),
            HTTPField("WWW-Authenticate", "Basic realm=\"heliograph\", charset=\"UTF-8\""),
        ]
        return refusal
    }
}
