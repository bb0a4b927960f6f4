package import Delivery
package import KafkaIO
package import Vocabulary

/// Current faults, for readiness; the log summarizes repeated ones.
package struct CurrentFaults: Sendable {
    private static let kafkaTroubleLifetime = Duration.seconds(60)

    private var kafkaError: KafkaError?
    private var kafkaFailedAt: Instant?
    /// The latest error for records that Kafka refused, by kind of record.
    private var refusedRecords: [Publication: (topic: String, error: KafkaError, at: Instant)] = [:]
    /// The latest error of each partition of the assignment that has one, and its name.
    private var refusedPartitions: [PartitionID: (name: String, error: KafkaError, at: Instant)] =
        [:]
    /// The first error of a transaction since the last committed one.
    private var transactionError: KafkaError?
    private var assignedPartitions: Set<PartitionID> = []
    /// Why APNs refuses the credential, and when it last did, by route.
    private var credentials: [Route: (reason: String, at: Instant)] = [:]
    /// A parked credential is forgotten no later.
    private static let credentialLifetime =
        CredentialParking.Limits().maxWait + CredentialParking.memory
    private var replacedAt: [Int: Instant] = [:]
    /// Why the last connection failed, by route.
    package private(set) var connections: [Route: String] = [:]
    /// The last failure at the endpoint, a connection or a request, by route.
    ///
    /// A later answer does not clear it: its request may have been sent before the breaker opened.
    package private(set) var failures: [Route: String] = [:]
    /// Routes where a request timed out and none was answered since.
    private var unanswering: Set<Route> = []
    /// Consecutive unanswered requests, and when the last one ended, by route.
    private var unserved: [Route: (count: Int, at: Instant)] = [:]
    /// From this many on, it is not a coincidence.
    private static let unservedLimit = 10
    /// Twice the longest time for which a breaker stays open.
    private static let unservedLifetime = Duration.seconds(120)
    package var hasJoinedGroup = false

    package init() {}

    /// What is wrong with Kafka; reported for a limited time.
    ///
    /// An idle client does not notice when a broker comes back.
    package func kafka(now: Instant) -> String? {
        if let kafkaError, let kafkaFailedAt, now - kafkaFailedAt < Self.kafkaTroubleLifetime {
            return kafkaError.description
        }
        let refusals = refusedRecords.values.filter { now - $0.at < Self.kafkaTroubleLifetime }
        return refusals.map { "\($0.topic): \($0.error)" }.min() ?? partitionTrouble(now: now)
            ?? transactionError.map { "transactions fail: \($0)" }
    }

    /// The error of single partitions, if it counts as a fault.
    ///
    /// Deleting one of many topics does not, if other partitions work; a missing permission does.
    private func partitionTrouble(now: Instant) -> String? {
        let refusals = refusedPartitions.values
            .filter { now - $0.at < Self.kafkaTroubleLifetime }
        let isTrouble =
            refusals.count == assignedPartitions.count
            || refusals.contains { $0.error.code == .topicAuthorizationFailed }
        let first = refusals.min {
            ($0.error.description, $0.name) < ($1.error.description, $1.name)
        }
        return isTrouble ? first.map { "\($0.name): \($0.error)" } : nil
    }

    package mutating func partitionsAssigned(_ partitions: [PartitionID]) {
        assignedPartitions = Set(partitions)
        refusedPartitions = [:]
    }

    /// Kafka rejects reading or committing one partition.
    ///
    /// - Returns: whether this is new.
    package mutating func partitionRefused(
        _ partition: PartitionID,
        named name: String,
        _ error: KafkaError,
        at now: Instant
    ) -> Bool {
        // The answer may belong to an earlier assignment.
        guard assignedPartitions.contains(partition) else { return false }
        return refusedPartitions.updateValue((name, error, now), forKey: partition) == nil
    }

    package mutating func partitionTaken(_ partition: PartitionID) {
        if !refusedPartitions.isEmpty { refusedPartitions[partition] = nil }
    }

    /// Kafka did not accept a record.
    ///
    /// - Returns: whether this is new.
    package mutating func recordRefused(
        _ publication: Publication,
        to topic: String,
        _ error: KafkaError,
        at now: Instant
    ) -> Bool {
        let last = refusedRecords.updateValue((topic, error, now), forKey: publication)
        // Compare codes: delivery reports and calls describe the same refusal in different words.
        return last.map {
            $0.error.code != error.code || now - $0.at >= Self.kafkaTroubleLifetime
        } ?? true
    }

    package mutating func recordTaken(_ publication: Publication) {
        if !refusedRecords.isEmpty { refusedRecords[publication] = nil }
    }

    /// Notes the error of a failed transaction, unless a retry may succeed.
    ///
    /// Later errors, such as a producer in the wrong state, are only consequences.
    package mutating func transactionFailed(_ error: KafkaError) {
        if !error.isRetryable, !error.isOfConnection {
            transactionError = transactionError ?? error
        }
    }

    package mutating func transactionCommitted() {
        transactionError = nil
    }

    package mutating func kafkaFailed(_ error: KafkaError, at now: Instant) {
        kafkaError = error
        kafkaFailedAt = now
    }

    package mutating func kafkaWorked() {
        kafkaError = nil
        kafkaFailedAt = nil
    }

    /// - Returns: Whether this is new.
    ///
    /// An answer to a request with a replaced key or certificate is ignored.
    package mutating func credentialFailed(
        _ route: Route,
        _ reason: String,
        sentAt: Instant,
        now: Instant
    ) -> Bool {
        if let replacedAt = replacedAt[route.credential], sentAt < replacedAt { return false }
        let known = credential(of: route, now: now)
        credentials[route] = (reason, now)
        return known != reason
    }

    /// Why APNs refuses the credential; nil: it does not, or has not been asked for long.
    package func credential(of route: Route, now: Instant) -> String? {
        guard let (reason, at) = credentials[route], now - at < Self.credentialLifetime else {
            return nil
        }
        return reason
    }

    /// The credential uses another key or certificate from now on.
    package mutating func credentialReplaced(_ credential: Int, at now: Instant) {
        replacedAt[credential] = now
        for environment in APNsEnvironment.allCases {
            credentialWorked(Route(credential: credential, environment: environment))
        }
    }

    package mutating func credentialWorked(_ route: Route) {
        if !credentials.isEmpty { credentials[route] = nil }
        if !connections.isEmpty { connections[route] = nil }
    }

    package mutating func requestTimedOut(_ route: Route) -> Bool {
        unanswering.insert(route).inserted
    }

    package mutating func requestAnswered(_ route: Route) {
        if !unanswering.isEmpty { unanswering.remove(route) }
        if !unserved.isEmpty { unserved[route] = nil }
    }

    /// A request was refused, reset, or not answered in time.
    ///
    /// - Returns: whether the limit of consecutive unanswered requests was just reached.
    package mutating func requestUnserved(_ route: Route, at now: Instant) -> Bool {
        let count = (unserved[route]?.count ?? 0) + 1
        unserved[route] = (count, now)
        return count == Self.unservedLimit
    }

    /// Whether none of many requests was answered, the last of them recently.
    package func isUnserved(_ route: Route, now: Instant) -> Bool {
        guard let (count, at) = unserved[route] else { return false }
        return count >= Self.unservedLimit && now - at < Self.unservedLifetime
    }

    package mutating func endpointFailed(_ route: Route, _ text: String) {
        failures[route] = text
    }

    package mutating func connectionFailed(_ route: Route, _ text: String) {
        connections[route] = text
        failures[route] = text
    }

    /// The endpoint's breaker has closed, so earlier failures no longer explain it.
    package mutating func endpointRecovered(_ route: Route) {
        failures[route] = nil
    }
}
