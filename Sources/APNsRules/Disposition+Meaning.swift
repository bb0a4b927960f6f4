/// What `explain`, the status page and docs/reasons.md say of dispositions.
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
