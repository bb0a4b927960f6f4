import Vocabulary

/// Temporary answers: the notification may be accepted later, or on another connection.
///
/// Source: "Handling notification responses from APNs", tables of status codes and error strings.
extension ReasonTable {
    static let transientRows: [Row] = [
        Row(
            400,
            .idleTimeout,
            Verdict(.retryElsewhere, .connection),
            "The connection was idle for too long.",
            remedy: "Nothing: a new connection is opened."
        ),
        Row(
            429,
            .tooManyRequests,
            Verdict(.retryHere, .token),
            "Too many requests in a row for this device token.",
            remedy: "Send fewer notifications to this device, or use `collapse_id`; only this"
                + " device waits."
        ),
        Row(
            500,
            .internalServerError,
            Verdict(.retryHere, .server),
            "APNs had an internal error.",
            remedy: "Nothing; if it lasts, check Apple's system status"
                + " (https://developer.apple.com/system-status/)."
        ),
        Row(
            503,
            .serviceUnavailable,
            Verdict(.retryHere, .server),
            "APNs is unavailable.",
            remedy: "Nothing; if it lasts, check Apple's system status"
                + " (https://developer.apple.com/system-status/)."
        ),
        Row(
            503,
            .shutdown,
            Verdict(.retryElsewhere, .connection),
            "This APNs server is shutting down.",
            remedy: "Nothing: a new connection is opened."
        ),
    ]
}
