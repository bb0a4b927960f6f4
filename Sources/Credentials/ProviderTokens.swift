import APNsRules
import HTTP2IO
import Synchronization
package import Vocabulary

/// The provider token of one key, shared by all credentials, shards and connections that use it.
///
/// APNs counts new tokens per team and refuses more than one in 20 minutes, so no shard mints on
/// its own.
package final class ProviderTokenSource: Sendable {
    private struct State {
        var schedule = ProviderTokenSchedule()
        var serial = 0
        var mintedAt: Instant?
        var usedAt: Instant?
        var token: [UInt8] = []
    }

    let key: SigningKey
    private let state = Mutex(State())

    package init(_ key: SigningKey) {
        self.key = key
    }

    /// The token, minted now if its time has come.
    package func token(now: Moment) -> [UInt8] {
        state.withLock { state in
            switch state.schedule.tokenWanted(now: now) {
            case .useCurrent, .wait: break
            case .mint: mint(&state, now: now)
            }
            state.usedAt = now.instant
            return state.token
        }
    }

    /// APNs says that the token with which something was sent at that moment has expired.
    package func expired(sentAt: Instant, now: Moment) {
        state.withLock { state in
            guard let mintedAt = state.mintedAt else { return }
            let serial = sentAt < mintedAt ? state.serial - 1 : state.serial
            switch state.schedule.expired(serial: serial, now: now.instant) {
            case .useCurrent, .wait: break
            case .mint: mint(&state, now: now)
            }
        }
    }

    /// How long ago the token was minted; nil: none was yet.
    package func age(now: Instant) -> Duration? {
        state.withLock { state in state.mintedAt.map { now - $0 } }
    }

    /// How long ago the token was minted with which something was sent last, if that was lately: what
    /// nobody uses is not replaced, and grows old without harm.
    package func ageInUse(now: Instant) -> Duration? {
        state.withLock { state in
            guard let usedAt = state.usedAt, now - usedAt < Self.lately else { return nil }
            return state.mintedAt.map { now - $0 }
        }
    }

    private static let lately = Duration.seconds(300)

    private func mint(_ state: inout State, now: Moment) {
        let input = ProviderTokenText.signingInput(
            identity: key.identity,
            issuedAt: now.timestamp
        )
        state.token = ProviderTokenText.token(
            signingInput: input,
            signature: key.signer.sign(input)
        )
        state.serial = state.schedule.minted(now: now)
        state.mintedAt = now.instant
    }
}

/// The sources of all keys: the same key has the same one, whichever credential names it, and also
/// when its file comes back after another was there.
struct ProviderTokenSources {
    private var sources: [ProviderTokenSource] = []

    /// The key's source; what nobody uses is forgotten once its token is too old to be sent.
    mutating func source(
        for key: SigningKey,
        inUse: [ProviderTokenSource],
        now: Instant
    ) -> ProviderTokenSource {
        if let known = sources.first(where: { $0.key.isSame(as: key) }) { return known }
        sources.removeAll { source in
            let isInUse = inUse.contains { $0 === source }
            let age = source.age(now: now) ?? ProviderTokenSchedule.maxAge
            return !isInUse && age >= ProviderTokenSchedule.maxAge
        }
        let source = ProviderTokenSource(key)
        sources.append(source)
        return source
    }
}
