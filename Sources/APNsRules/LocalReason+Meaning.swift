public import Vocabulary

/// The descriptions of Heliograph's own reasons in `explain`, the status page and docs/reasons.md.
extension LocalReason {
    /// The outcomes that may have this reason.
    public var outcomes: [OutcomeKind] {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge,
            .unknownSchema, .unusableSchema, .notBeforeTooFar:
            [.invalid]
        case .expired, .eventTooOld, .superseded: [.expired]
        case .noCredential, .providerTokenRequired, .certificateRefused, .requestTimeout,
            .streamBroken, .schemaUnavailable, .endpointUnavailable, .routeCongested,
            .deviceCongested, .unexplainedStatus, .campaignPaused, .notDueYet:
            [.undeliverable]
        case .tokenUnregistered: [.suppressed]
        case .duplicateEvent, .duplicateRecipient: [.duplicate]
        case .campaignCancelled: [.cancelled]
        }
    }

    /// One sentence that explains it.
    public var explanation: String {
        switch self {
        case .malformedEvent:
            "The record is not UTF-8, is not JSON, is nested too deeply, violates its"
                + " framing, or has a name twice in the event or in its `metadata`."
        case .eventTooLarge: "The record's value is larger than `limits.event_bytes`."
        case .schemaViolation: "The event violates its schema; `violations` shows where."
        case .unknownSchema:
            "The Schema Registry does not know the schema that the record names."
        case .unusableSchema:
            "The schema that the record names is not a JSON Schema that can be enforced."
        case .schemaUnavailable:
            "The Schema Registry did not return the record's schema in time, and no retry topic"
                + " accepted the event."
        case .payloadTooLarge:
            "Not sent: the payload is over 4096 bytes, or 5120 for `voip` and broadcasts."
        case .expired: "`expiration` passed before APNs accepted the notification."
        case .eventTooOld:
            "The event reached the age limit `limits.event_age` before APNs accepted it, counted"
                + " from its first record."
        case .superseded:
            "A newer event with the same `collapse_id` arrived while the device had to wait"
                + " (429), or a newer broadcast arrived for the channel before this one was"
                + " accepted."
        case .endpointUnavailable:
            "Not sent: the circuit breaker was open, because the endpoint failed too often."
        case .routeCongested:
            "Not sent: the credential's queue did not move, and other events needed its memory."
        case .deviceCongested:
            "Not sent: too many events waited for this device, and other events needed their"
                + " memory."
        case .certificateRefused:
            "Not sent: APNs refused the certificate in the TLS handshake, and the"
                + " credential is parked."
        case .noCredential: "No credential covers the event's bundle ID or topic."
        case .providerTokenRequired:
            "Not sent: APNs accepts `liveactivity` and `location` only with a provider token, and"
                + " the credential is a certificate."
        case .tokenUnregistered:
            "Not sent: according to an earlier 410, the token has been dead since"
                + " `unregistered_at`."
        case .duplicateEvent:
            "Not sent: an event with the same `id` and `device_token` (or `channel_id`) is being"
                + " sent, or was accepted."
        case .duplicateRecipient:
            "Not sent: an earlier entry of the event's `recipients` has the same device token."
        case .campaignCancelled: "Not sent: the event's campaign was cancelled."
        case .campaignPaused:
            "The event waited in a retry topic because its campaign was paused. As an outcome: not"
                + " sent, because no retry topic accepted the event."
        case .notDueYet:
            "The event waited in a retry topic for its `not_before`. As an outcome: not sent,"
                + " because no retry topic accepted the event."
        case .notBeforeTooFar:
            "Not sent: `not_before` is further ahead than `limits.not_before` allows."
        case .requestTimeout: "APNs did not answer the last attempt within `apns.request_timeout`."
        case .streamBroken:
            "The stream or its connection broke before the last attempt's answer, or the answer was"
                + " malformed."
        case .unexplainedStatus:
            "The answers had an undocumented status, or lacked the reason that APNs always gives."
        }
    }

    /// What an operator or developer should do.
    public var remedy: String {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge:
            "Fix the producer; `violations` shows what is wrong."
        case .unknownSchema:
            "Register the schema, or correct `schema_registry.url`; then send the dead letter again."
        case .unusableSchema: "Correct the schema at the registry, or send JSON; see `violations`."
        case .schemaUnavailable: "Fix the Schema Registry, then send the dead letters again."
        case .expired: "Nothing, or give events a later `expiration`."
        case .eventTooOld:
            "Find out why it is late (an outage, or a topic that is read again), or raise"
                + " `limits.event_age`."
        case .superseded: "Nothing; send less often to this device or channel."
        case .endpointUnavailable:
            "Check Apple's system status (https://developer.apple.com/system-status/) and the"
                + " network."
        case .routeCongested:
            "Check the credential's connections; allow more of them (`apns.connections.max`), or"
                + " send fewer events with it."
        case .deviceCongested: "Find out why one device gets so many events, and send fewer."
        case .certificateRefused: "Replace the credential's certificate; no restart is needed."
        case .noCredential: "Add the bundle ID to a credential in the configuration."
        case .providerTokenRequired:
            "Give the app a credential with a key (`key_file`), then send the dead letters again."
        case .tokenUnregistered:
            "Delete the token, unless the app reported it after `unregistered_at`; then send `token_registered_at` in its events."
        case .duplicateEvent:
            "Nothing. If it was meant as a separate notification, give it its own `id`."
        case .duplicateRecipient:
            "Nothing, or list each token once."
        case .campaignCancelled:
            "Nothing. To send it anyway, let the campaign run"
                + " (`heliograph campaigns resume NAME --yes`) and write the event again."
        case .campaignPaused, .notDueYet:
            "Check the retry topics (`retry.later`), then send the dead letters again."
        case .notBeforeTooFar:
            "Write the event later, correct `not_before`, or raise `limits.not_before`."
        case .requestTimeout, .streamBroken:
            "Check the network; the notification may have arrived anyway."
        case .unexplainedStatus: "Look for a proxy, a firewall or a portal in between."
        }
    }
}
