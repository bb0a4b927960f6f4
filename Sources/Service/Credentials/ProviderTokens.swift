import APNsRules
import HTTP2IO
import Synchronization
import Vocabulary

/// The provider tokens of all credentials: one per key, shared by all shards and connections.
///
/// APNs counts new tokens per team and refuses more than one in 20 minutes, so no shard mints on
/// its own.
final class ProviderTokens: Sendable {
    private struct Entry {
        var schedule = ProviderTokenSchedule()
        var serial = 0
        var mintedAt: Instant?
        var token: [UInt8] = []
    }

    private let keys: [SigningKey?]
    private let entries: Mutex<[Entry]>

    /// Keys in the order of the configuration's credentials; nil where a certificate speaks.
    init(_ keys: [SigningKey?]) {
        self.keys = keys
        entries = Mutex(Array(repeating: Entry(), count: keys.count))
    }

    /// The credential's token, minted now if its time has come; nil where a certificate speaks.
    func token(credential index: Int, now: Moment) -> [UInt8]? {
        guard let key = keys[index] else { return nil }
        return entries.withLock { entries in
            switch entries[index].schedule.tokenWanted(now: now.instant) {
            case .useCurrent, .wait: break
            case .mint: Self.mint(key, &entries[index], now: now)
            }
            return entries[index].token
        }
    }

    /// APNs says that the token with which this credential sent at that moment has expired.
    func expired(credential index: Int, sentAt: Instant, now: Moment) {
        guard let key = keys[index] else { return }
        entries.withLock { entries in
            guard let mintedAt = entries[index].mintedAt else { return }
            let serial = sentAt < mintedAt ? entries[index].serial - 1 : entries[index].serial
            switch entries[index].schedule.expired(serial: serial, now: now.instant) {
            case .useCurrent, .wait: break
            case .mint: Self.mint(key, &entries[index], now: now)
            }
        }
    }

    private static func mint(_ key: SigningKey, _ entry: inout Entry, now: Moment) {
        let input = ProviderTokenText.signingInput(
            identity: key.identity,
            issuedAt: now.timestamp
        )
        entry.token = ProviderTokenText.token(
            signingInput: input,
            signature: key.signer.sign(input)
        )
        entry.serial = entry.schedule.minted(now: now.instant)
        entry.mintedAt = now.instant
    }
}
