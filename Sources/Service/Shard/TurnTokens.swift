import Vocabulary

/// The provider tokens that a shard sends in one turn.
///
/// Each source is asked once a turn, and its token kept in bytes of the shard's own: with every
/// event the sources' lock, and the count of references to their bytes, would go from core to core.
struct TurnTokens {
    private struct Kept {
        /// Nil: to be asked again.
        var turn: Instant?
        var token: [UInt8] = []
    }

    /// By credential.
    private var kept: [Kept]

    init(credentialCount: Int) {
        kept = Array(repeating: Kept(), count: credentialCount)
    }

    /// - Parameters:
    ///   - credential: Its place in the configuration.
    ///   - source: Where its token comes from.
    ///   - now: This turn's moment.
    /// - Returns: The token's text.
    mutating func token(
        of credential: Int,
        from source: ProviderTokenSource,
        now: Moment
    ) -> [UInt8] {
        if kept[credential].turn != now.instant {
            kept[credential].turn = now.instant
            let token = source.token(now: now)
            if kept[credential].token != token {
                kept[credential].token.removeAll(keepingCapacity: true)
                kept[credential].token.append(contentsOf: token)
            }
        }
        return kept[credential].token
    }

    /// To be called when a source may have another token than this turn's.
    mutating func forget() {
        for credential in kept.indices { kept[credential].turn = nil }
    }
}
