import Delivery
import Vocabulary

/// What is wrong at present, for readiness and for a log that says each thing once.
struct Troubles: Sendable {
    private(set) var kafka: String?
    /// What APNs said of the credential, by route.
    private(set) var credentials: [Route: String] = [:]
    /// Why the last connection failed, by route.
    private(set) var connections: [Route: String] = [:]
    private var commit: String?
    private var produce: String?
    var hasJoinedGroup = false

    // Each `…Failed` returns whether this is news.

    mutating func kafkaFailed(_ text: String) -> Bool {
        defer { kafka = text }
        return kafka != text
    }

    mutating func kafkaWorked() {
        kafka = nil
        commit = nil
        produce = nil
    }

    mutating func commitFailed(_ name: String) -> Bool {
        defer { commit = name }
        return commit != name
    }

    mutating func produceFailed(_ name: String) -> Bool {
        defer { produce = name }
        return produce != name
    }

    mutating func credentialFailed(_ route: Route, _ reason: String) -> Bool {
        credentials.updateValue(reason, forKey: route) != reason
    }

    mutating func credentialWorked(_ route: Route) {
        if !credentials.isEmpty { credentials[route] = nil }
        if !connections.isEmpty { connections[route] = nil }
    }

    mutating func connectionFailed(_ route: Route, _ text: String) -> Bool {
        connections.updateValue(text, forKey: route) != text
    }
}
