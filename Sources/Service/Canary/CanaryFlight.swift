import Foundation
import JSON
package import KafkaIO
package import Telemetry
package import Vocabulary

/// What `heliograph canary` sends.
package struct CanaryPlan: Hashable, Sendable {
    package let topic: KafkaTopic
    package let bundleID: String
    package let deviceToken: DeviceToken
    /// From one event to the next, and how long an outcome may take.
    package let interval: Duration

    package init(
        topic: KafkaTopic,
        bundleID: String,
        deviceToken: DeviceToken,
        interval: Duration
    ) {
        self.topic = topic
        self.bundleID = bundleID
        self.deviceToken = deviceToken
        self.interval = interval
    }
}

/// One event of the canary, and what became of it.
///
/// Pure: `CanaryRound` has the clients.
package struct CanaryFlight: Sendable {
    package enum Landing: Hashable, Sendable {
        case accepted(after: Duration)
        case failed(CanaryResult, cause: String)
    }

    package let eventID = "canary-\(UUID().uuidString.lowercased())"
    /// The event's JSON.
    package let event: [UInt8]
    /// After it, nothing is waited for.
    package let end: Instant
    private let start: Instant
    private var isWritten = false
    /// Nil as long as it is on its way.
    package private(set) var landing: Landing?

    package init(_ plan: CanaryPlan, at start: Instant, wallClock: Timestamp) {
        self.start = start
        end = start + plan.interval
        event = Self.event(eventID, plan, at: wallClock)
    }

    /// The report of Kafka's: whether the event is written.
    package mutating func delivered(_ error: KafkaError?) {
        if let error {
            land(.failed(.kafka, cause: "\(error)"))
        } else {
            isWritten = true
        }
    }

    /// A record of the results topic; of another event, mostly.
    package mutating func read(_ value: [UInt8]?, now: Instant) {
        guard let value, let outcome = try? JSONValue.parse(value),
            outcome["event_id"]?.string == eventID, let kind = outcome["outcome"]?.string
        else { return }
        if kind == OutcomeKind.accepted.rawValue {
            land(.accepted(after: now - start))
        } else {
            let reason = outcome["reason"]?.string.map { ": \($0)" } ?? ""
            land(.failed(.notAccepted, cause: kind + reason))
        }
    }

    package mutating func timeAdvanced(now: Instant) {
        guard now >= end else { return }
        land(
            isWritten
                ? .failed(.noOutcome, cause: "no outcome of \(eventID)")
                : .failed(.kafka, cause: "no broker has acknowledged \(eventID)")
        )
    }

    /// What comes first counts.
    private mutating func land(_ landing: Landing) {
        self.landing = self.landing ?? landing
    }

    /// Silent on the device: it wakes the app, if at all, and shows nothing.
    ///
    /// It expires when nobody waits for it any more, so that none piles up while the service is down.
    private static func event(_ id: String, _ plan: CanaryPlan, at now: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        for (name, value) in [
            ("id", id), ("device_token", plan.deviceToken.hexadecimal),
            ("bundle_id", plan.bundleID), ("push_type", "background"),
        ] {
            writer.name(name)
            writer.string(value)
        }
        writer.name("expiration")
        writer.integer(now.seconds + plan.interval.components.seconds)
        writer.name("payload")
        writer.raw(#"{"aps":{"content-available":1}}"#.utf8)
        writer.endObject()
        return writer.bytes
    }
}
