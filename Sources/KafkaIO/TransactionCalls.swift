import CRdkafka
public import Vocabulary

/// Why a transactional call failed.
public struct TransactionError: Error, Hashable, Sendable {
    public let kind: TransactionFailure
    public let cause: KafkaError

    public init(kind: TransactionFailure, cause: KafkaError) {
        self.kind = kind
        self.cause = cause
    }

    /// Makes the error for a transaction whose producer failed fatally.
    public init(_ cause: KafkaError) {
        self.init(kind: cause.isFencing ? .fenced : .unusable, cause: cause)
    }
}

extension KafkaError {
    /// Whether a producer with the same `transactional.id` is alive.
    var isFencing: Bool {
        switch code {
        case .fenced, .producerFenced, .invalidProducerEpoch: true
        default: false
        }
    }
}

/// The member of a consumer group, and its generation, for which a transaction commits.
///
/// Kafka rejects offsets of a member that was replaced (KIP-447), but accepts those without a
/// member. So this must be taken when the assignment arrives, not when offsets are sent: a member
/// that lost the group meanwhile has no member ID. Safe to share: it never changes.
@safe public final class GroupGeneration: @unchecked Sendable {
    fileprivate let raw: OpaquePointer

    /// Nil if the consumer is no longer a member of its group.
    init?(of consumer: OpaquePointer) {
        guard let raw = unsafe rd_kafka_consumer_group_metadata(consumer) else { return nil }
        unsafe self.raw = raw
        // Checked last: a lost member ID does not come back before the next assignment.
        guard let name = unsafe rd_kafka_memberid(consumer) else { return nil }
        defer { unsafe rd_kafka_mem_free(consumer, name) }
        guard unsafe name.pointee != 0 else { return nil }
    }

    deinit { unsafe rd_kafka_consumer_group_metadata_destroy(raw) }
}

/// The offsets to commit in a transaction.
public struct TransactionOffsets: Sendable {
    fileprivate struct Entry: Sendable {
        var partition: TopicPartition
        var offset: Int64
        var metadata: String
    }

    fileprivate let entries: [Entry]
    fileprivate let generation: GroupGeneration
}

extension Consumer {
    /// Offsets and metadata for a transaction, with the member and generation that commits them.
    ///
    /// - Returns: nil if the assignment has ended, so that it may not commit.
    public func transactionOffsets(_ commits: [PartitionCommit]) -> TransactionOffsets? {
        guard let generation else { return nil }
        return TransactionOffsets(
            entries: commits.map { commit in
                precondition(commit.isStorable, "metadata must be ASCII, 4,096 bytes")
                return TransactionOffsets.Entry(
                    partition: partitions[commit.partition],
                    offset: commit.offset.rawValue,
                    metadata: commit.metadata
                )
            },
            generation: generation
        )
    }
}

/// The transactional calls of a producer; they block, so they need a thread of their own.
///
/// The producer's own thread must keep polling, because the library waits until delivery reports
/// are taken. Safe to share: the library's functions are thread-safe. The producer must outlive
/// every call.
@safe public struct TransactionCalls: @unchecked Sendable {
    private let raw: OpaquePointer

    fileprivate init(_ raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    /// Ends open transactions of earlier producers with the same ID and fences them; up to
    /// `timeout`.
    public func open(timeout: Duration = .seconds(10)) throws(TransactionError) {
        let milliseconds = Int32(clamping: timeout.milliseconds)
        try unsafe check(rd_kafka_init_transactions(raw, milliseconds))
    }

    /// Begins a transaction; the only call that does not block.
    public func begin() throws(TransactionError) {
        try unsafe check(rd_kafka_begin_transaction(raw))
    }

    /// Adds the offsets to the transaction.
    ///
    /// A repeated call must pass the same offsets.
    public func send(
        _ offsets: TransactionOffsets,
        timeout: Duration = .seconds(10)
    ) throws(TransactionError) {
        let list = PartitionList(capacity: offsets.entries.count)
        for entry in offsets.entries {
            list.append(entry.partition, offset: entry.offset, metadata: entry.metadata)
        }
        do throws(TransactionError) {
            try send(list, offsets.generation, timeout)
        } catch {
            guard error.cause.code == .wrongState else { throw error }
            // The transaction failed during the call, for instance because a record's partition
            // cannot be added to it. Another call fails at once, and says why.
            try send(list, offsets.generation, timeout)
        }
    }

    private func send(
        _ list: borrowing PartitionList,
        _ generation: GroupGeneration,
        _ timeout: Duration
    ) throws(TransactionError) {
        let error = unsafe rd_kafka_send_offsets_to_transaction(
            raw,
            list.raw,
            generation.raw,
            Int32(clamping: timeout.milliseconds)
        )
        try unsafe check(error)
    }

    /// Commits; blocks as long as the transaction may take (`transaction.timeout.ms`).
    ///
    /// After a retriable error the result is unknown; repeat the call to find out.
    public func commit() throws(TransactionError) {
        try unsafe check(rd_kafka_commit_transaction(raw, -1))
    }

    /// Aborts the transaction; queued records are dropped, and their reports say so.
    public func abort() throws(TransactionError) {
        try unsafe check(rd_kafka_abort_transaction(raw, -1))
    }

    private func check(_ error: OpaquePointer?) throws(TransactionError) {
        guard let error = unsafe error else { return }
        let isAbortable = unsafe rd_kafka_error_txn_requires_abort(error) != 0
        let isRetriable = unsafe rd_kafka_error_is_retriable(error) != 0
        guard let cause = unsafe KafkaError(consuming: error) else { return }
        if cause.isFatal || cause.code == .fatal || cause.isFencing {
            throw TransactionError(fatalCause ?? cause)
        }
        let kind: TransactionFailure =
            isAbortable ? .abortable : isRetriable ? .retriable : .unusable
        throw TransactionError(kind: kind, cause: cause)
    }

    private var fatalCause: KafkaError? { unsafe ClientHandle.fatalError(of: raw) }
}

extension Producer {
    public var transactionCalls: TransactionCalls { unsafe TransactionCalls(client.raw) }
}
