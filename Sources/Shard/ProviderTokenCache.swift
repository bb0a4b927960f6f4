import Credentials
import Vocabulary

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
