import Credentials
import Vocabulary

/// The provider tokens that a shard sends in one turn.
///
/// Each source is asked once a turn, and its token kept in bytes of the shard's own: with every
/// event the sources' lock, and the counts of references to them and to their bytes, would go from
/// core to core.
struct TurnTokens {
    private struct Kept {
        /// Nil: to be asked again.
        var turn: Instant?
        /// Nil: a certificate speaks.
        var token: [UInt8]?
    }

    /// By credential.
    private var kept: [Kept]

    init(credentialCount: Int) {
        kept = Array(repeating: Kept(), count: credentialCount)
    }

    /// A credential's token, by its place in the configuration; nil: a certificate speaks.
    ///
    /// `now` is this turn's moment.
    mutating func token(
        of credential: Int,
        _ credentials: [CredentialInUse],
        now: Moment
    ) -> [UInt8]? {
        if kept[credential].turn != now.instant {
            let token = credentials[credential].token?.token(now: now)
            if kept[credential].token != token { kept[credential].token = token.map(Self.copy) }
            kept[credential].turn = now.instant
        }
        return kept[credential].token
    }

    /// To be called when a source may have another token than this turn's.
    mutating func forget() {
        for credential in kept.indices { kept[credential].turn = nil }
    }

    private static func copy(_ token: [UInt8]) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(contentsOf: token)
        return copy
    }
}
