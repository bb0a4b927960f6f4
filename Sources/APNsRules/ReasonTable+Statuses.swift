import Vocabulary

/// Answers that are judged by their status, because they have no usable reason.
///
/// Source: "Handling notification responses from APNs", tables of status codes and error strings.
extension ReasonTable {
    /// The meaning of a status without a reason, or with an unknown or mismatched one.
    ///
    /// An unknown status counts as the first of its class (RFC 9110, 15). APNs always gives a
    /// reason for a refusal: one without a reason comes from an intermediary, and neither ends an
    /// event nor affects a token or a credential.
    static let statusRows: [Row] = [
        Row(
            200...299,
            nil,
            Verdict(.delivered, .nobody),
            "APNs accepted the notification. APNs itself answers 200; a retry could only"
                + " send a duplicate.",
            remedy: "Nothing; if the status is not 200, look for a proxy in between."
        ),
        Row(
            403,
            nil,
            needsReason: true,
            Verdict(.parkCredential, .credential),
            "APNs refuses the credential, with a reason that is unknown or belongs to"
                + " another status.",
            remedy: "Look up the reason in Apple's current documentation and report it; then send"
                + " the dead letters again."
        ),
        Row(
            408,
            nil,
            Verdict(.retryHere, .connection),
            "The request did not arrive in time (RFC 9110, 15.5.9).",
            remedy: "Nothing; if it lasts, look at the network."
        ),
        Row(
            410,
            nil,
            needsReason: true,
            Verdict(.unregistered, .token, token: .remove),
            "The device token is no longer active for the topic, for a reason that is unknown or"
                + " belongs to another status.",
            remedy: "Delete the token, unless the app reported it after `unregistered_at`."
        ),
        Row(
            421,
            nil,
            Verdict(.retryElsewhere, .connection),
            "The connection leads to a server that does not serve this host (RFC 9110, 15.5.20).",
            remedy: "Check `apns.endpoints` and the proxy."
        ),
        Row(
            429,
            nil,
            needsReason: true,
            Verdict(.retryHere, .token),
            "Too many requests in a row for this device token.",
            remedy: "Send fewer notifications to this device; only this device waits."
        ),
        Row(
            400...499,
            nil,
            needsReason: true,
            Verdict(.rejected, .event),
            "APNs refuses the request, with a reason that is unknown or belongs to another status.",
            remedy: "Look up the reason in Apple's current documentation and report it."
        ),
        Row(
            400...499,
            nil,
            // A problem on the way to APNs: the circuit breaker finds out whether it concerns one
            // event or all.
            Verdict(.retryHere, .server),
            "APNs always gives a reason, so a proxy or another server in between answered.",
            remedy: "Look for a proxy, a firewall or a portal in between; check"
                + " `apns.endpoints`."
        ),
        Row(
            500...599,
            nil,
            Verdict(.retryHere, .server),
            "APNs, or a proxy in front of it, failed.",
            remedy: "Nothing; if it lasts, check Apple's system status"
                + " (https://developer.apple.com/system-status/)."
        ),
        everythingElse,
    ]

    static let everythingElse = Row(
        0...999,
        nil,
        Verdict(.retryElsewhere, .connection),
        "APNs never answers like this; a proxy or another server in between did.",
        remedy: "Check `apns.endpoints` and the proxy."
    )
}
