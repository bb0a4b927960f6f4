/// How a transactional call failed, as rdkafka.h sorts it ("Transactional producer API").
public enum TransactionFailure: Hashable, Sendable, CaseIterable {
    /// The same call may succeed later.
    case retriable
    /// The transaction did not happen, and must be aborted.
    case abortable
    /// A producer with the same `transactional.id` lives, or the transaction took too long.
    case fenced
    /// The producer is unusable.
    case unusable
}
