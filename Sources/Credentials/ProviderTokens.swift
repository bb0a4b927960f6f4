import APNsRules
import HTTP2IO
import Synchronization
package import Vocabulary

/// The provider token of one key, shared by all credentials, shards and connections with that key.
///
/// All processes with the key compute the same bytes: `iat` depends on the clock, the signature on
/// the key. So a restart, a second process or `heliograph push` does not use a new token at APNs.
package final class ProviderTokenSource: Sendable {
    private struct State {
        var schedule: ProviderTokenSchedule
        var usedAt: Instant?
        /// The `iat` of the token.
        var issuedAt: Timestamp?
        var token: [UInt8] = []
    }

    let key: SigningKey
    /// How many times APNs refused the key to any user in this process.
    private let revocations = Atomic(0)
    private let state: Mutex<State>

    package init(_ key: SigningKey) {
        self.key = key
        state = Mutex(State(schedule: ProviderTokenSchedule(key.identity)))
    }

    /// The current token, signed now if it is due.
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

    /// APNs called a token expired that was used in a request sent at `sentAt`.
    package func expired(sentAt: Instant, now: Moment) {
        state.withLock { $0.schedule.expired(sentAt: sentAt, now: now) }
    }

    /// The age of the token in use; nil if it was not used recently.
    ///
    /// An unused token is not replaced, and its age does not matter.
    package func ageInUse(now: Moment) -> Duration? {
        state.withLock { state in
            guard let usedAt = state.usedAt, now.instant - usedAt < Self.lately else { return nil }
            return state.schedule.age(now: now.timestamp)
        }
    }

    private static let lately = Duration.seconds(300)
}
