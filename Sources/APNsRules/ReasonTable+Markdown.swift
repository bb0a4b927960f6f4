public import Vocabulary

extension ReasonTable {
    /// The whole page `docs/reasons.md`.
    public static var markdown: String {
        var page = """
            # Reasons

            Generated from the code's own table; a test keeps it in step. \
            `heliograph explain REASON` prints one row.

            An answer is judged by its status first, then by its reason. A reason that is unknown, \
            or comes with another status than its own, has no say: the table of statuses decides.

            | disposition | what Heliograph does |
            |---|---|

            """
        for disposition in Disposition.allCases {
            page += "| `\(disposition.rawValue)` | \(disposition.meaning) |\n"
        }
        page += "\n## Reasons of APNs\n\n" + header
        for row in rows where row.reason != nil { page += row.markdown }
        page +=
            "\n## Statuses without a reason that decides\n\nThe first row that fits decides.\n\n"
        page += header
        for row in statusRows { page += row.markdown }
        page += """

            ## Reasons of APNs for broadcasts and channels

            They judge `/4/broadcasts` and the management of channels, `heliograph channels`. No \
            device token is concerned. A broadcast never goes to a retry topic, and no request \
            about channels is repeated:

            | disposition | what Heliograph does |
            |---|---|

            """
        for disposition in Disposition.allCases where disposition.isOtherForBroadcasts {
            page += "| `\(disposition.rawValue)` | \(disposition.broadcastMeaning) |\n"
        }
        page += "\n" + header
        for row in broadcastRows { page += row.markdown }
        page += """

            ## Reasons of Heliograph itself

            `decided_by` is `heliograph`, or `apns` for `UnexplainedStatus`.

            | reason | outcome | meaning | what to do |
            |---|---|---|---|

            """
        for reason in LocalReason.allCases {
            let kinds = reason.outcomes.map { "`\($0.rawValue)`" }.joined(separator: ", ")
            page +=
                "| `\(reason.rawValue)` | \(kinds) | \(reason.explanation) | \(reason.remedy) |\n"
        }
        return page
    }

    private static let header = """
        | status | reason | disposition | token action | at fault | meaning | what to do |
        |---|---|---|---|---|---|---|

        """
}

extension ReasonTable.Row {
    fileprivate var markdown: String {
        let reasonText = reason.map { "`\($0.rawValue)`" } ?? "any"
        return "| \(statusText) | \(reasonText) | `\(verdict.disposition.rawValue)`"
            + " | `\(verdict.tokenAction.rawValue)` | \(verdict.fault.rawValue)"
            + " | \(explanation) | \(remedy) |\n"
    }
}

extension Disposition {
    /// What Heliograph does about a notification for a device, in a sentence.
    public var meaning: String {
        switch self {
        case .delivered: "Final: outcome `accepted`."
        case .unregistered: "Final: outcome `unregistered`."
        case .rejected: "Final: outcome `rejected`."
        case .retryHere:
            "Sends again after a delay; when the attempts or their time are used up, the event goes"
                + " to a retry topic, or without one is `undeliverable`, with a dead letter."
        case .retryElsewhere:
            "Sends again as `retryHere` does, on another connection; this one opens no more"
                + " streams."
        case .refreshProviderToken:
            "Sends again, once, with a fresh provider token where one may be made; then the"
                + " credential is parked."
        case .parkCredential:
            "Nothing is sent with the credential for a while (1 to 15 minutes), or until its key is"
                + " replaced; the event goes to a retry topic, or without one is `undeliverable`,"
                + " with a dead letter. Readiness names the credential; others go on."
        }
    }

    /// What Heliograph does about a broadcast or a request about channels, in a sentence or two.
    public var broadcastMeaning: String {
        switch self {
        case .delivered, .unregistered, .rejected: meaning
        case .retryHere:
            "A broadcast is sent again after a delay, unless a newer one waits for the channel;"
                + " when the attempts or their time are used up, it is `undeliverable`, with a dead"
                + " letter. A request about channels is not repeated."
        case .retryElsewhere:
            "As `retryHere`, on another connection; this one opens no more streams."
        case .refreshProviderToken:
            "A broadcast is sent again, once, with a fresh provider token where one may be made;"
                + " then the credential is parked. A request about channels is not repeated."
        case .parkCredential:
            "Nothing is sent with the credential for a while (1 to 15 minutes), or until its key is"
                + " replaced; a broadcast is `undeliverable`, with a dead letter. Readiness names"
                + " the credential; others go on. A request about channels is not repeated."
        }
    }

    /// Whether it means something else than for a device.
    public var isOtherForBroadcasts: Bool { broadcastMeaning != meaning }
}

extension LocalReason {
    /// The outcomes that may carry the reason.
    public var outcomes: [OutcomeKind] {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge,
            .unknownSchema, .unusableSchema:
            [.invalid]
        case .expired, .superseded: [.expired]
        case .noCredential, .requestTimeout, .streamBroken, .schemaUnavailable,
            .endpointUnavailable, .routeCongested, .deviceCongested:
            [.undeliverable]
        case .tokenUnregistered: [.suppressed]
        case .duplicateEvent: [.duplicate]
        case .unexplainedStatus: [.rejected, .unregistered, .undeliverable]
        }
    }

    /// One sentence for people.
    public var explanation: String {
        switch self {
        case .malformedEvent:
            "The record is not UTF-8, not JSON, nested too deeply, or wrongly framed."
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
        case .superseded:
            "APNs asked this device to wait, and a newer event with the same `collapse_id` came; or a"
                + " newer broadcast came to the channel before this one was accepted."
        case .endpointUnavailable:
            "The circuit breaker was open: the endpoint failed too often; not sent."
        case .routeCongested:
            "The credential's queue did not move and left the others no room; not sent."
        case .deviceCongested:
            "The events for this device, sent one by one, left the others no room; not sent."
        case .noCredential: "No credential covers the event's bundle ID or topic."
        case .tokenUnregistered: "APNs has called the token dead since `unregistered_at`; not sent."
        case .duplicateEvent:
            "The same `id` and `device_token` (or `channel_id`) is being sent, or was accepted; not sent again."
        case .requestTimeout: "APNs did not answer the last attempt within `apns.request_timeout`."
        case .streamBroken: "The stream or its connection broke before the last attempt's answer."
        case .unexplainedStatus: "APNs answered with an undocumented status or without a reason."
        }
    }

    /// What people should do.
    public var remedy: String {
        switch self {
        case .malformedEvent, .eventTooLarge, .schemaViolation, .payloadTooLarge:
            "Correct the producer; `violations` says what is wrong."
        case .unknownSchema:
            "Register the schema, or correct `schema_registry.url`; then send the dead letter again."
        case .unusableSchema: "Correct the schema at the registry; `violations` says what is wrong."
        case .schemaUnavailable: "Mend the Schema Registry, then send the dead letters again."
        case .expired: "Nothing, or give events more time."
        case .superseded: "Nothing; send less to this device or channel."
        case .endpointUnavailable: "See Apple's system status page; check the network."
        case .routeCongested:
            "Look at the credential's connections; allow more of them, or send it less."
        case .deviceCongested: "Find out why so many events are for one device; send less to it."
        case .noCredential: "Add the bundle ID to a credential in the configuration."
        case .tokenUnregistered:
            "Remove the token; or send `token_registered_at`, if the app has registered it since."
        case .duplicateEvent: "Nothing; give notifications that differ ids that differ."
        case .requestTimeout, .streamBroken:
            "Check the network; the notification may have arrived all the same."
        case .unexplainedStatus: "Look for a proxy in between."
        }
    }
}
