import APNsRules
import Credentials
import Delivery
import Vocabulary

/// Writes the headers of a shard's requests to APNs, with the credentials that are in use.
struct APNsRequests {
    /// Those of the last request.
    private(set) var headers = RequestSeries(RequestHeaders(authority: ""))
    private let credentials: Credentials
    /// The credentials as this shard uses them; see `takeCredentials`.
    private var inUse: [CredentialInUse]
    private var version = 0
    /// By credential: how often its key was revoked, as far as this shard has heard.
    private var revocations: [Int]
    /// By the route's index.
    private var authorities: [RequestHeaders]
    /// The route of the last request, if any: those of one route come one after the other.
    private var route: Route?
    private var tokens: ProviderTokenCache

    init(_ credentials: Credentials) {
        self.credentials = credentials
        inUse = credentials.inUse(newerThan: &version) ?? []
        authorities = inUse.flatMap(\.endpoints).map(\.headers)
        revocations = inUse.map { $0.token?.revocationCount ?? 0 }
        tokens = ProviderTokenCache(credentialCount: inUse.count)
    }

    /// By the route's index.
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

    /// APNs called a provider token expired.
    mutating func tokenExpired(_ refresh: TokenRefresh, now: Moment) {
        inUse[refresh.credential].token?.expired(sentAt: refresh.sentAt, now: now)
        tokens.forget()
    }

    /// APNs refuses a credential's key: all who use it in the process hear of it.
    func keyRevoked(_ credential: Int) { credentials.keyRevoked(inUse[credential]) }

    /// Takes over credentials that have been reloaded, or revoked.
    ///
    /// Call it between two turns.
    ///
    /// - Returns: The indices of the credentials that have changed, and of those whose present key was
    ///   revoked meanwhile; nil if nothing happened.
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
/// Each source is asked once a turn, and its token cached in bytes of the shard's own: with every
/// event the sources' lock, and the counts of references to them and to their bytes, would go from
/// core to core.
struct ProviderTokenCache {
    private struct Cached {
        /// Nil: to be asked again.
        var turn: Instant?
        /// Nil: a certificate speaks.
        var token: [UInt8]?
    }

    /// By credential.
    private var cached: [Cached]

    init(credentialCount: Int) {
        cached = Array(repeating: Cached(), count: credentialCount)
    }

    /// A credential's token, by its place in the configuration; nil: a certificate speaks.
    ///
    /// `now` is this turn's moment.
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

    /// To be called when a source may have another token than this turn's.
    mutating func forget() {
        for credential in cached.indices { cached[credential].turn = nil }
    }

    private static func copy(_ token: [UInt8]) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(contentsOf: token)
        return copy
    }
}
