import HTTPServer

/// Decides who may see which page of the admin port, and who may change something.
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

    /// The error for a request that would change something; nil: it may, unless `refusal` says no.
    ///
    /// Without a token, everyone who reaches the port could. And a browser sends the password by
    /// itself, even if a page of another site makes the request (cross-site request forgery). But
    /// it says then where the request comes from, in fields that no page can set: `Sec-Fetch-Site`
    /// (W3C Fetch Metadata), or `Origin` (RFC 6454, section 7). Bearer tokens are only sent by
    /// programs, and by pages that know the token.
    func refusalOfChange(by request: HTTPRequest) -> HTTPResponse? {
        guard tokens() != nil else {
            return HTTPResponse(
                .forbidden,
                "set admin.bearer_token_file first; without a token, anyone could do this\n"
            )
        }
        if let site = request["sec-fetch-site"] {
            return site == "same-origin" ? nil : Self.foreign
        }
        if let origin = request["origin"] {
            let authority = origin.firstRange(of: "://").map {
                origin[$0.upperBound...].lowercased()
            }
            return authority != nil && authority == request.authority?.lowercased()
                ? nil : Self.foreign
        }
        guard AdminTokens.isBearer(request["authorization"]) else {
            return HTTPResponse(.forbidden, "send the token as a bearer token, not as a password\n")
        }
        return nil
    }

    /// The user name that came with the token; nil: none did.
    func user(of request: HTTPRequest) -> String? {
        tokens()?.user(in: request["authorization"])
    }

    private static let foreign = HTTPResponse(
        .forbidden,
        "the request comes from a page of another site; a proxy in between must keep the Host field\n"
    )
}
