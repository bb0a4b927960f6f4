package import Delivery
import Synchronization
package import Vocabulary

/// A process's list of dead tokens, shared by its shards and the token-status reader.
///
/// One lock protects the table, for one look-up at a time; it is not taken while the list is empty.
package final class SuppressedTokens: Sendable {
    private let list: Mutex<SuppressionList>
    /// Changed only under the lock; otherwise two threads could leave an old count behind.
    private let tokenCount = Atomic(0)

    /// - Parameter maxCount: The maximum number of tokens; 0 remembers none.
    package init(maxCount: Int) {
        list = Mutex(SuppressionList(maxCount: maxCount))
    }

    private var count: Int { tokenCount.load(ordering: .relaxed) }

    package var deadCount: Int { list.withLock(\.deadCount) }

    /// When the token died, as reported by APNs, or `SuppressionList.noted`; nil: it is not listed.
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
