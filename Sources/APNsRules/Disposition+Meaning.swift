/// The descriptions of dispositions in `explain`, the status page and docs/reasons.md.
extension Disposition {
    /// What Heliograph does with a notification for a device, as a sentence.
    public var meaning: String {
        switch self {
        case .delivered: "Final: outcome `accepted`."
        case .unregistered: "Final: outcome `unregistered`."
        case .rejected: "Final: outcome `rejected`."
        case .retryHere:
            "Retries after a delay. When attempts or time run out, the event goes to a retry topic."
                + " If none fits, it ends `undeliverable`, with a dead letter."
        case .retryElsewhere:
            "Retries after a delay, on another connection; this one takes no more requests. When"
                + " attempts or time run out, the event goes to a retry topic. If none fits, it ends"
                + " `undeliverable`, with a dead letter."
        case .refreshProviderToken:
            "Retries once, on a new connection, with a new provider token if APNs already allows one;"
                + " then parks the credential."
        case .parkCredential:
            "Parks the credential (`BadEnvironmentKeyIdInToken`, `BadCertificateEnvironment`: in this"
                + " environment only): only single probes are sent with it, the first after 30 s to"
                + " 1 min, then after doubling waits up to 15 min. Replacing its key ends the parking at"
                + " once. The event goes to a retry topic. If none fits, it ends"
                + " `undeliverable`, with a dead letter. `/ready` has a warning with the"
                + " credential's name; other credentials continue."
        }
    }

    /// What Heliograph does with a broadcast or a channel request, in one or two sentences.
    public var broadcastMeaning: String {
        switch self {
        case .delivered, .unregistered, .rejected: meaning
        case .retryHere:
            "A broadcast is retried after a delay, unless a newer one waits for the channel. When"
                + " attempts or time run out, it ends `undeliverable`, with a dead letter. A"
                + " request about channels is not repeated."
        case .retryElsewhere:
            "A broadcast is retried after a delay, on another connection, unless a newer one waits"
                + " for the channel; this connection takes no more requests. When attempts or time"
                + " run out, it ends `undeliverable`, with a dead letter. A request about channels"
                + " is not repeated."
        case .refreshProviderToken:
            "A broadcast is retried once, on a new connection, with a new provider token if APNs"
                + " already allows one; then the credential is parked. A request about channels is not"
                + " repeated."
        case .parkCredential:
            "Parks the credential (`BadEnvironmentKeyIdInToken`, `BadCertificateEnvironment`: in this"
                + " environment only): only single probes are sent with it, the first after 30 s to"
                + " 1 min, then after doubling waits up to 15 min. Replacing its key ends the parking at"
                + " once. A broadcast ends `undeliverable`, with a dead letter. `/ready` has a"
                + " warning with the credential's name; other credentials continue. A request about"
                + " channels is not repeated."
        }
    }

    /// Whether the meaning differs from that for a device.
    public var isOtherForBroadcasts: Bool { broadcastMeaning != meaning }
}
