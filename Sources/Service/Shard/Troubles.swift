import Delivery
import KafkaIO
import Vocabulary

/// What is wrong at present, for readiness; the log summarises what repeats.
struct Troubles: Sendable {
    private static let kafkaTroubleLifetime = Duration.seconds(60)

    private var kafkaError: KafkaError?
    private var kafkaFailedAt: Instant?
    /// What APNs said of the credential, by route.
    private(set) var credentials: [Route: String] = [:]
    private var replacedAt: [Int: Instant] = [:]
    /// Why the last connection failed, by route.
    private(set) var connections: [Route: String] = [:]
    /// Where a request timed out and none was answered since.
    private var unanswering: Set<Route> = []
    var hasJoinedGroup = false

    /// What is wrong with Kafka, as long as it was said lately: a broker that comes back while
    /// there is nothing to do announces itself by nothing.
    func kafka(now: Instant) -> String? {
        guard let kafkaError, let kafkaFailedAt, now - kafkaFailedAt < Self.kafkaTroubleLifetime
        else { return nil }
        return kafkaError.description
    }

    mutating func kafkaFailed(_ error: KafkaError, at now: Instant) {
        kafkaError = error
        kafkaFailedAt = now
    }

    mutating func kafkaWorked() {
        kafkaError = nil
        kafkaFailedAt = nil
    }

    /// - Returns: Whether this is news.
    ///
    /// What was sent with a key or certificate that is replaced by now says nothing.
    mutating func credentialFailed(_ route: Route, _ reason: String, sentAt: Instant) -> Bool {
        if let replacedAt = replacedAt[route.credential], sentAt < replacedAt { return false }
        return credentials.updateValue(reason, forKey: route) != reason
    }

    /// Another key or certificate is in use from then on.
    mutating func credentialReplaced(_ credential: Int, at now: Instant) {
        replacedAt[credential] = now
        for environment in APNsEnvironment.allCases {
            credentialWorked(Route(credential: credential, environment: environment))
        }
    }

    mutating func credentialWorked(_ route: Route) {
        if !credentials.isEmpty { credentials[route] = nil }
        if !connections.isEmpty { connections[route] = nil }
    }

    mutating func requestTimedOut(_ route: Route) -> Bool {
        unanswering.insert(route).inserted
    }

    mutating func requestAnswered(_ route: Route) {
        if !unanswering.isEmpty { unanswering.remove(route) }
    }

    mutating func connectionFailed(_ route: Route, _ text: String) {
        connections[route] = text
    }
}
