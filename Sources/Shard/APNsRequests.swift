import APNsRules
import Credentials
import Delivery
import Vocabulary

/// Writes the headers of a shard's requests to APNs, using the current credentials.
struct APNsRequests {
    /// The headers of the last request.
    private(set) var headers = RequestSeries(RequestHeaders(authority: ""))
    private let credentials: Credentials
    /// The credentials as this shard uses them; updated by `takeCredentials`.
    private var inUse: [CredentialInUse]
    private var version = 0
    /// By credential: how many times its key was revoked, as far as this shard knows.
    private var revocations: [Int]
    /// By route index.
    private var authorities: [RequestHeaders]
    /// The route of the last request, if any: requests of one route usually come together.
    private var route: Route?
    private var tokens: ProviderTokenCache

    init(_ credentials: Credentials) {
        self.credentials = credentials
        inUse = credentials.inUse(newerThan: &version) ?? []
        authorities = inUse.flatMap(\.endpoints).map(\.headers)
        revocations = inUse.map { $0.token?.revocationCount ?? 0 }
        tokens = ProviderTokenCache(credentialCount: inUse.count)
    }

    /// By route index.
    var endpoints: [APNsEndpoint] { inUse.flatMap(\.endpoints) }

    /// Writes the headers of the next request.
    mutating func write(_ request: Send, now: Moment) {
        if route?.index != request.route.index {
            route = request.route
            headers.endpoint = authorities[request.route.index]
        }
        headers.advance(
            to: request.arrival.content,
            topic: request.arrival.topic,
            providerToken: tokens.token(of: request.route.credential, inUse, now: now)
        )
    }

    /// APNs reported a provider token as expired.
    mutating func tokenExpired(_ refresh: TokenRefresh, now: Moment) {
        inUse[refresh.credential].token?.expired(sentAt: refresh.sentAt, now: now)
        tokens.forget()
    }

    /// APNs refused a credential's key; informs all users of the key in this process.
    func keyRevoked(_ credential: Int) { credentials.keyRevoked(inUse[credential]) }

    /// Adopts credentials that were reloaded or revoked.
    ///
    /// Call it between two turns.
    ///
    /// - Returns: The indices of credentials that changed, and of those whose current key was
    ///   revoked; nil if nothing happened.
    mutating func takeCredentials() -> (replaced: [Int], revoked: [Int])? {
        guard let newer = credentials.inUse(newerThan: &version) else { return nil }
        let replaced = newer.indices.filter { newer[$0].generation != inUse[$0].generation }
        let counts = newer.map { $0.token?.revocationCount ?? 0 }
        let revoked = newer.indices.filter {
            newer[$0].token === inUse[$0].token && counts[$0] != revocations[$0]
        }
        revocations = counts
        inUse = newer
        authorities = endpoints.map(\.headers)
        route = nil
        tokens.forget()
        return (replaced, revoked)
    }
}

/// The provider tokens that a shard sends in one turn.
///
/// Each source is queried once per turn, and its token copied into memory of the shard. Otherwise
/// the sources' lock, and the reference counts of sources and tokens, would move between cores with
/// every event.
struct ProviderTokenCache {
    private struct Cached {
        /// Nil: must be queried again.
        var turn: Instant?
        /// Nil: the credential is a certificate.
        var token: [UInt8]?
    }

    /// By credential index.
    private var cached: [Cached]

    init(credentialCount: Int) {
        cached = Array(repeating: Cached(), count: credentialCount)
    }

    /// A credential's provider token; nil: the credential is a certificate.
    ///
    /// `credential` is the index in the configuration, `now` this turn's moment.
    mutating func token(
        of credential: Int,
        _ credentials: [CredentialInUse],
        now: Moment
    ) -> [UInt8]? {
        if cached[credential].turn != now.instant {
            let token = credentials[credential].token?.token(now: now)
            if cached[credential].token != token { cached[credential].token = token.map(Self.copy) }
            cached[credential].turn = now.instant
        }
        return cached[credential].token
    }

    /// Drops the cached tokens; call it when a source may have a new token.
    mutating func forget() {
        for credential in cached.indices { cached[credential].turn = nil }
    }

    private static func copy(_ token: [UInt8]) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(contentsOf: token)
        return copy
    }
}
