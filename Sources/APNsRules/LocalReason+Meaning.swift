public import Vocabulary

/// What `explain`, the status page and docs/reasons.md say of Heliograph's own reasons.
extension LocalReason {
    /// The outcomes that may carry the reason.
    public var outcomes: [OutcomeKind] {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge,
            .unknownSchema, .unusableSchema:
            [.invalid]
        case .expired, .eventTooOld, .superseded: [.expired]
        case .noCredential, .providerTokenRequired, .certificateRefused, .requestTimeout,
            .streamBroken, .schemaUnavailable, .endpointUnavailable, .routeCongested,
            .deviceCongested, .unexplainedStatus:
            [.undeliverable]
        case .tokenUnregistered: [.suppressed]
        case .duplicateEvent: [.duplicate]
        }
    }

    /// One sentence for people.
    public var explanation: String {
        switch self {
        case .malformedEvent:
            "The record is not UTF-8, not JSON, nested too deeply, or wrongly framed, or a name appears"
                + " twice in the event or in its `metadata`."
        case .eventTooLarge: "The record's value is larger than `limits.event_bytes`."
        case .schemaViolation: "The event breaks its schema; `violations` says where."
        case .unknownSchema:
            "The Schema Registry does not know the schema that the record names."
        case .unusableSchema:
            "The schema that the record names is no JSON Schema that can be enforced."
        case .schemaUnavailable:
            "The Schema Registry did not give the record's schema in time, and no retry topic would."
        case .payloadTooLarge:
            "The payload is over 4096 bytes, or 5120 for `voip` and broadcasts; not sent."
        case .expired: "`expiration` passed before APNs accepted the notification."
        case .eventTooOld:
            "The event's first record was older than `limits.event_age` before APNs accepted it."
        case .superseded:
            "APNs asked this device to wait, and a newer event with the same `collapse_id` came; or a"
                + " newer broadcast came to the channel before this one was accepted."
        case .endpointUnavailable:
            "The circuit breaker was open: the endpoint failed too often; not sent."
        case .routeCongested:
            "The credential's queue did not move and left the others no room; not sent."
        case .deviceCongested:
            "The events for this device, sent one by one, left the others no room; not sent."
        case .certificateRefused:
            "APNs refused the certificate in the TLS handshake; the credential is parked; not sent."
        case .noCredential: "No credential covers the event's bundle ID or topic."
        case .providerTokenRequired:
            "APNs takes `liveactivity` and `location` with a provider token only, and the credential is"
                + " a certificate; not sent."
        case .tokenUnregistered: "APNs has called the token dead since `unregistered_at`; not sent."
        case .duplicateEvent:
            "The same `id` and `device_token` (or `channel_id`) is being sent, or was accepted; not sent again."
        case .requestTimeout: "APNs did not answer the last attempt within `apns.request_timeout`."
        case .streamBroken:
            "The stream or its connection broke before the last attempt's answer, or the answer was"
                + " malformed."
        case .unexplainedStatus:
            "The answers had an undocumented status or no reason, which APNs always gives."
        }
    }

    /// What people should do.
    public var remedy: String {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge:
            "Correct the producer; `violations` says what is wrong."
        case .unknownSchema:
            "Register the schema, or correct `schema_registry.url`; then send the dead letter again."
        case .unusableSchema: "Correct the schema at the registry, or send JSON; see `violations`."
        case .schemaUnavailable: "Mend the Schema Registry, then send the dead letters again."
        case .expired: "Nothing, or give events more time."
        case .eventTooOld:
            "Find out why it is late, as an outage or a log that is read again; or raise `limits.event_age`."
        case .superseded: "Nothing; send less to this device or channel."
        case .endpointUnavailable: "See Apple's system status page; check the network."
        case .routeCongested:
            "Look at the credential's connections; allow more of them, or send it less."
        case .deviceCongested: "Find out why so many events are for one device; send less to it."
        case .certificateRefused: "Replace the credential's certificate; no restart is needed."
        case .noCredential: "Add the bundle ID to a credential in the configuration."
        case .providerTokenRequired:
            "Give the app a credential with a key (`key_file`), then send the dead letters again."
        case .tokenUnregistered:
            "Remove the token; or send `token_registered_at`, if the app has registered it since."
        case .duplicateEvent: "Nothing; give notifications that differ ids that differ."
        case .requestTimeout, .streamBroken:
            "Check the network; the notification may have arrived all the same."
        case .unexplainedStatus: "Look for a proxy, a firewall or a portal in between."
        }
    }
}
