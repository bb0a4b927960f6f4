import APNsRules
import HTTP2IO
import Synchronization
package import Vocabulary

/// The provider token of one key, shared by all credentials, shards and connections that use it.
///
/// Others with the key come to the same bytes: `iat` follows from the clock, the signature from the
/// key. So a restart, a second process or `heliograph push` is not a new token for APNs.
package final class ProviderTokenSource: Sendable {
    private struct State {
        var schedule: ProviderTokenSchedule
        var usedAt: Instant?
        /// Of the token.
        var issuedAt: Timestamp?
        var token: [UInt8] = []
    }

    let key: SigningKey
    /// How often APNs refused the key to somebody in the process.
    private let revocations = Atomic(0)
    private let state: Mutex<State>

    package init(_ key: SigningKey) {
        self.key = key
        state = Mutex(State(schedule: ProviderTokenSchedule(key.identity)))
    }

    /// The token, made now if its time has come.
    package func token(now: Moment) -> [UInt8] {
        state.withLock { state in
            state.usedAt = now.instant
            let issuedAt = state.schedule.issueTime(now: now)
            guard state.issuedAt != issuedAt else { return state.token }
            let input = ProviderTokenText.signingInput(identity: key.identity, issuedAt: issuedAt)
            state.token = ProviderTokenText.token(
                signingInput: input,
                signature: key.signer.sign(input)
            )
            state.issuedAt = issuedAt
            return state.token
        }
    }

    package var revocationCount: Int { revocations.load(ordering: .acquiring) }

    func wasRevoked() {
        revocations.add(1, ordering: .releasing)
    }

    /// APNs says that the token with which something was sent at that moment has expired.
    package func expired(sentAt: Instant, now: Moment) {
        state.withLock { $0.schedule.expired(sentAt: sentAt, now: now) }
    }

    /// How old the token is with which something was sent last, if that was lately: what nobody
    /// uses is not replaced, and grows old without harm.
    package func ageInUse(now: Moment) -> Duration? {
        state.withLock { state in
            guard let usedAt = state.usedAt, now.instant - usedAt < Self.lately else { return nil }
            return state.schedule.age(now: now.timestamp)
        }
    }

    private static let lately = Duration.seconds(300)
}
