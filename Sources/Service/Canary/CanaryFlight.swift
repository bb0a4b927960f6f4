import Foundation
import JSON
package import KafkaIO
package import Telemetry
package import Vocabulary

/// What `heliograph canary` sends, and how often.
package struct CanaryPlan: Hashable, Sendable {
    package let topic: KafkaTopic
    package let bundleID: String
    package let deviceToken: DeviceToken
    /// The time from one event to the next, which is also the deadline for its outcome.
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

/// One canary event and its result.
///
/// Pure: `CanaryRound` owns the Kafka clients.
package struct CanaryFlight: Sendable {
    package enum Landing: Hashable, Sendable {
        case accepted(after: Duration)
        case failed(CanaryResult, cause: String)
    }

    package let eventID = "canary-\(UUID().uuidString.lowercased())"
    /// The event's JSON.
    package let event: [UInt8]
    /// The deadline for the outcome.
    package let end: Instant
    private let start: Instant
    private var isWritten = false
    /// The result; nil while the event is in flight.
    package private(set) var landing: Landing?

    package init(_ plan: CanaryPlan, at start: Instant, wallClock: Timestamp) {
        self.start = start
        end = start + plan.interval
        event = Self.event(eventID, plan, at: wallClock)
    }

    /// Handles the delivery report: whether Kafka has the event.
    package mutating func delivered(_ error: KafkaError?) {
        if let error {
            land(.failed(.kafka, cause: "\(error)"))
        } else {
            isWritten = true
        }
    }

    /// Handles a record of the results topic; most are about other events.
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

    /// Keeps the first result.
    private mutating func land(_ landing: Landing) {
        self.landing = self.landing ?? landing
    }

    /// A silent notification: it may wake the app, but shows nothing.
    ///
    /// It expires a second after the deadline, so that events do not pile up while the service is
    /// down.
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
        writer.integer(now.seconds + plan.interval.components.seconds + 1)
        writer.name("payload")
        writer.raw(#"{"aps":{"content-available":1}}"#.utf8)
        writer.endObject()
        return writer.bytes
    }
}
