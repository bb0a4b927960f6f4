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

    /// What a fatal error of the producer means to its transactions.
    public init(_ cause: KafkaError) {
        self.init(kind: cause.isFencing ? .fenced : .unusable, cause: cause)
    }
}

extension KafkaError {
    /// A producer with the same `transactional.id` is alive.
    var isFencing: Bool {
        switch code {
        case .fenced, .producerFenced, .invalidProducerEpoch: true
        default: false
        }
    }
}

/// Who commits: a consumer group's member in the generation of its assignment.
///
/// Kafka refuses the offsets of a member that has been replaced (KIP-447), but takes those of
/// nobody in particular: so it is requested when the assignment comes, not when offsets are sent,
/// for a member that has lost the group meanwhile has no name any more. Safe to share: it is never
/// changed.
@safe public final class GroupGeneration: @unchecked Sendable {
    fileprivate let raw: OpaquePointer

    /// Nil when the consumer is not a member of its group any more.
    init?(of consumer: OpaquePointer) {
        guard let raw = unsafe rd_kafka_consumer_group_metadata(consumer) else { return nil }
        unsafe self.raw = raw
        // Asked for afterwards: a name that is lost does not come back before the next assignment.
        guard let name = unsafe rd_kafka_memberid(consumer) else { return nil }
        defer { unsafe rd_kafka_mem_free(consumer, name) }
        guard unsafe name.pointee != 0 else { return nil }
    }

    deinit { unsafe rd_kafka_consumer_group_metadata_destroy(raw) }
}

/// The offsets to be written in a transaction.
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
    /// Offsets and metadata for a transaction, with the member and generation that may write them.
    ///
    /// - Returns: nil when it may not: the assignment is gone.
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

/// The transactional calls of a producer: they block, so they need a thread of their own.
///
/// The producer's own thread must continue polling meanwhile, for the library waits until delivery
/// reports are taken. Safe to share: each function of the library locks. The producer must outlive
/// every call.
@safe public struct TransactionCalls: @unchecked Sendable {
    private let raw: OpaquePointer

    fileprivate init(_ raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    /// Ends what earlier producers of the same name left, and shuts them out; waits `timeout`.
    public func open(timeout: Duration = .seconds(10)) throws(TransactionError) {
        let milliseconds = Int32(clamping: timeout.milliseconds)
        try unsafe check(rd_kafka_init_transactions(raw, milliseconds))
    }

    /// Starts a transaction; the one call that does not wait.
    public func begin() throws(TransactionError) {
        try unsafe check(rd_kafka_begin_transaction(raw))
    }

    /// Makes the offsets part of the transaction.
    ///
    /// To be repeated with the same offsets only.
    public func send(
        _ offsets: TransactionOffsets,
        timeout: Duration = .seconds(10)
    ) throws(TransactionError) {
        let list = PartitionList(capacity: offsets.entries.count)
        for entry in offsets.entries {
            list.append(entry.partition, offset: entry.offset, metadata: entry.metadata)
        }
        let milliseconds = Int32(clamping: timeout.milliseconds)
        let error = unsafe rd_kafka_send_offsets_to_transaction(
            raw,
            list.raw,
            offsets.generation.raw,
            milliseconds
        )
        try unsafe check(error)
    }

    /// Commits, and waits as long as the transaction may take (`transaction.timeout.ms`).
    ///
    /// After a retriable error nobody knows whether it happened; the same call finds out.
    public func commit() throws(TransactionError) {
        try unsafe check(rd_kafka_commit_transaction(raw, -1))
    }

    /// Aborts: what is queued is dropped, and its reports say so.
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
