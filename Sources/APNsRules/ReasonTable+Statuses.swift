import Vocabulary

/// Answers that are judged by their status alone, such as a bare 410: the token is dead.
///
/// Source: "Handling notification responses from APNs", tables of statuses and of error strings.
extension ReasonTable {
    /// What a status means with no reason, with an unknown one, or with one that belongs elsewhere.
    ///
    /// An unknown status acts as the first of its class (RFC 9110, 15).
    static let statusRows: [Row] = [
        Row(
            200...299,
            nil,
            Verdict(.delivered, .nobody),
            "APNs accepted the notification; it says 200, and a repetition could only duplicate.",
            remedy: "Nothing; for another status than 200 look for a proxy in between."
        ),
        Row(
            403,
            nil,
            Verdict(.rejected, .credential),
            "APNs refuses the credential, with a reason that is unknown, misplaced or missing.",
            remedy: "Look the reason up in Apple's current documentation and report it."
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
            Verdict(.unregistered, .token, token: .remove),
            "The device token is no longer active for the topic.",
            remedy: "Remove the token unless the app has registered it again since then."
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
            Verdict(.retryHere, .token),
            "Too many requests in a row for this device token.",
            remedy: "Send less to this device; only this device waits."
        ),
        Row(
            400...499,
            nil,
            Verdict(.rejected, .event),
            "APNs refuses the request, with a reason that is unknown, misplaced or missing.",
            remedy: "Look the reason up in Apple's current documentation and report it."
        ),
        Row(
            500...599,
            nil,
            Verdict(.retryHere, .server),
            "APNs, or a proxy before it, failed.",
            remedy: "Nothing; if it lasts, see Apple's system status page."
        ),
        everythingElse,
    ]

    static let everythingElse = Row(
        0...999,
        nil,
        Verdict(.retryElsewhere, .connection),
        "APNs does not answer like this: something in between does.",
        remedy: "Check `apns.endpoints` and the proxy."
    )
}
