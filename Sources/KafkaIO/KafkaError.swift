import CRdkafka
public import Vocabulary

/// An error of the Kafka client or of a broker.
public struct KafkaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// `rd_kafka_resp_err_t`: negative inside the client, positive from a broker.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32

        public init(rawValue: Int32) {
            self.rawValue = rawValue
        }

        init(_ code: rd_kafka_resp_err_t) {
            rawValue = code.rawValue
        }

        var libraryCode: rd_kafka_resp_err_t { rd_kafka_resp_err_t(rawValue) }

        /// The C name without its prefix, such as `_TRANSPORT` or `NOT_LEADER_FOR_PARTITION`.
        public var name: String {
            // SAFETY: the text is a static string in the library (rdkafka.h).
            unsafe String(cString: rd_kafka_err2name(libraryCode))
        }

        var text: String {
            // SAFETY: as above.
            unsafe String(cString: rd_kafka_err2str(libraryCode))
        }
    }

    public let code: Code
    /// A message for people; may name brokers, but never contains a secret.
    public let text: String
    /// Whether the client instance is unusable and must be replaced.
    public let isFatal: Bool

    public init(code: Code, text: String? = nil, isFatal: Bool = false) {
        self.code = code
        let said = text ?? code.text
        self.text = code.remedy.map { said.hasSuffix($0) ? said : "\(said); \($0)" } ?? said
        self.isFatal = isFatal
    }

    init(_ code: rd_kafka_resp_err_t, text: String? = nil) {
        self.init(code: Code(code), text: text)
    }

    /// Nil for `RD_KAFKA_RESP_ERR_NO_ERROR`.
    init?(unlessSuccess code: rd_kafka_resp_err_t, text: String? = nil) {
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return nil }
        self.init(code, text: text)
    }

    /// Takes over and frees an error object of the library; nil if there is none.
    init?(consuming error: OpaquePointer?) {
        guard let error = unsafe error else { return nil }
        defer { unsafe rd_kafka_error_destroy(error) }
        unsafe self.init(
            code: Code(rd_kafka_error_code(error)),
            text: String(cString: rd_kafka_error_string(error)),
            isFatal: rd_kafka_error_is_fatal(error) != 0
        )
    }

    /// Whether the same call may succeed later; after a fatal error, on a new instance.
    public var isRetryable: Bool { isFatal || Self.retryable.contains(code) }

    /// Whether the error is about a connection to a broker, which may be reestablished.
    public var isOfConnection: Bool { Self.ofConnection.contains(code) }

    /// Whether the error is about one topic or partition; others may work.
    public var isOfPartition: Bool { Self.ofPartition.contains(code) }

    /// Whether the partition's leader is about to change.
    var isOfLeadership: Bool { code == .notLeaderForPartition || code == .leaderNotAvailable }

    /// Whether Kafka rejects the size of a batch or record.
    public var isOfSize: Bool { code == .messageSizeTooLarge || code == .recordListTooLarge }

    /// Whether one record may be the cause, for which Kafka rejects the whole batch.
    public var mayBeOfRecord: Bool { isOfRecord || Self.ofContents.contains(code) }

    /// Whether the topic permanently rejects this record itself.
    ///
    /// The record is too large, or has no key although the topic is compacted.
    public var isOfRecord: Bool { isOfSize || code == .invalidRecord }

    /// Whether Kafka may have the record whose delivery report says so.
    public var mayBeWritten: Bool { code == .messageTimedOut || code == .noOffset }

    /// Where the log ended when it was found to have lost records that had been read (KIP-320).
    ///
    /// librdkafka 2.1 and later find it out, and report it only in the text
    /// (`rd_kafka_toppar_handle_OffsetForLeaderEpoch`). Nil if the log has nothing of that time.
    public var truncatedEnd: Offset? {
        guard code == .offsetOutOfReach, let mark = text.firstRange(of: "broker end offset is ")
        else { return nil }
        return Int64(text[mark.upperBound...].prefix { $0.isNumber }).map { Offset($0) }
    }

    public var name: String { code.name }

    public var description: String {
        "\(isFatal ? "fatal " : "")\(name): \(text)"
    }

    private static let ofConnection: Set<Code> = [
        .transport, .timedOut, .timedOutInQueue, .allBrokersDown, .tls, .login, .unresolved,
        .badMessage,
    ]

    private static let ofPartition: Set<Code> = [
        .unknownTopicOrPartition, .unknownPartition, .topicAuthorizationFailed,
    ]

    private static let ofContents: Set<Code> = [
        .invalidDifferentRecord, .invalidTimestamp, .policyViolation, .unsupportedForMessageFormat,
    ]

    private static let retryable: Set<Code> = [
        .transport, .timedOut, .messageTimedOut, .noOffset, .allBrokersDown, .queueFull,
        .waitCoordinator, .purgedInQueue, .purgedInFlight, .requestTimedOut, .leaderNotAvailable,
        .notLeaderForPartition, .networkException, .coordinatorLoadInProgress,
        .coordinatorNotAvailable, .notCoordinator, .notEnoughReplicas,
        .notEnoughReplicasAfterAppend, .rebalanceInProgress, .storageError,
    ]
}

extension KafkaError.Code {
    public static let fatal = Self(RD_KAFKA_RESP_ERR__FATAL)
    public static let transport = Self(RD_KAFKA_RESP_ERR__TRANSPORT)
    public static let badMessage = Self(RD_KAFKA_RESP_ERR__BAD_MSG)
    public static let tls = Self(RD_KAFKA_RESP_ERR__SSL)
    public static let login = Self(RD_KAFKA_RESP_ERR__AUTHENTICATION)
    public static let unresolved = Self(RD_KAFKA_RESP_ERR__RESOLVE)
    public static let timedOut = Self(RD_KAFKA_RESP_ERR__TIMED_OUT)
    /// The request was never sent.
    public static let timedOutInQueue = Self(RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE)
    public static let messageTimedOut = Self(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
    public static let noOffset = Self(RD_KAFKA_RESP_ERR__NO_OFFSET)
    public static let allBrokersDown = Self(RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
    public static let queueFull = Self(RD_KAFKA_RESP_ERR__QUEUE_FULL)
    /// The client does not allow the call in its current state.
    public static let wrongState = Self(RD_KAFKA_RESP_ERR__STATE)
    public static let waitCoordinator = Self(RD_KAFKA_RESP_ERR__WAIT_COORD)
    public static let purgedInQueue = Self(RD_KAFKA_RESP_ERR__PURGE_QUEUE)
    public static let purgedInFlight = Self(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT)
    public static let invalidConfiguration = Self(RD_KAFKA_RESP_ERR__INVALID_ARG)
    public static let unknownPartition = Self(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION)
    public static let clientUnknownTopic = Self(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
    /// The committed or given offset does not exist (`auto.offset.reset=error`).
    public static let offsetOutOfReach = Self(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET)
    public static let unknownTopicOrPartition = Self(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    public static let topicAuthorizationFailed = Self(
        RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED
    )
    public static let groupAuthorizationFailed = Self(
        RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED
    )
    public static let transactionalIDAuthorizationFailed = Self(
        RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    )
    /// The errors for missing permissions.
    static let ofRights = [
        topicAuthorizationFailed, groupAuthorizationFailed, transactionalIDAuthorizationFailed,
    ]
    public static let invalidRequiredAcks = Self(RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS)
    public static let messageSizeTooLarge = Self(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
    /// A batch is larger than a log segment of the topic.
    public static let recordListTooLarge = Self(RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE)
    public static let invalidRecord = Self(RD_KAFKA_RESP_ERR_INVALID_RECORD)
    /// Another record in the batch was rejected; reported by librdkafka 2.8 and later.
    public static let invalidDifferentRecord = Self(rawValue: -138)
    /// The clocks of this machine and of the broker are too far apart.
    public static let invalidTimestamp = Self(RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP)
    public static let policyViolation = Self(RD_KAFKA_RESP_ERR_POLICY_VIOLATION)
    public static let unsupportedForMessageFormat = Self(
        RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT
    )
    /// A producer with the same `transactional.id` replaced this one.
    public static let fenced = Self(RD_KAFKA_RESP_ERR__FENCED)
    public static let producerFenced = Self(RD_KAFKA_RESP_ERR_PRODUCER_FENCED)
    public static let invalidProducerEpoch = Self(RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH)
    /// An open transaction contains offsets of the partition (KIP-447).
    public static let unstableOffsetCommit = Self(RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT)
    public static let requestTimedOut = Self(RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT)
    public static let leaderNotAvailable = Self(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE)
    public static let notLeaderForPartition = Self(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION)
    public static let networkException = Self(RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION)
    public static let coordinatorLoadInProgress = Self(
        RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS
    )
    public static let coordinatorNotAvailable = Self(RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE)
    public static let notCoordinator = Self(RD_KAFKA_RESP_ERR_NOT_COORDINATOR)
    public static let notEnoughReplicas = Self(RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS)
    public static let notEnoughReplicasAfterAppend = Self(
        RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND
    )
    public static let rebalanceInProgress = Self(RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS)
    /// Another member uses the same `group.instance.id` (KIP-345).
    public static let fencedInstance = Self(RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID)
    public static let offsetMetadataTooLarge = Self(RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE)
    public static let topicAlreadyExists = Self(RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
    public static let storageError = Self(RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR)
}
