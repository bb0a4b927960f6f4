package import Delivery
import Synchronization
package import Vocabulary

/// The one list of dead tokens of a process: its shards and the token-status reader share it.
///
/// A lock around the whole table, held for one probe; while the list is empty nobody takes it.
package final class SuppressedTokens: Sendable {
    private let list: Mutex<SuppressionList>
    /// Changed under the lock only, or two threads could leave an older count behind.
    private let tokenCount = Atomic(0)

    /// - Parameter maxCount: Tokens at most; 0 remembers none.
    package init(maxCount: Int) {
        list = Mutex(SuppressionList(maxCount: maxCount))
    }

    private var count: Int { tokenCount.load(ordering: .relaxed) }

    package var deadCount: Int { list.withLock(\.deadCount) }

    /// Since when APNs has called the token dead, or `SuppressionList.noted`; nil: it is not
    /// listed.
    subscript(token: KeyedHash) -> Timestamp? {
        guard count > 0 else { return nil }
        return list.withLock { $0[token] }
    }

    package func insert(_ token: KeyedHash, since timestamp: Timestamp) {
        list.withLock { list in
            list.insert(token, since: timestamp)
            tokenCount.store(list.count, ordering: .relaxed)
        }
    }

    package func remove(_ token: KeyedHash) {
        guard count > 0 else { return }
        list.withLock { list in
            list.remove(token)
            tokenCount.store(list.count, ordering: .relaxed)
        }
    }
}
