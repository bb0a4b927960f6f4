import Vocabulary

/// Answers about the credential, and those that pass.
///
/// Source: "Handling notification responses from APNs", tables of statuses and of error strings.
extension ReasonTable {
    static let credentialRows: [Row] = [
        Row(
            403,
            .badCertificate,
            Verdict(.parkCredential, .credential),
            "The provider certificate is invalid.",
            remedy: "Replace the credential's certificate; no restart is needed."
        ),
        Row(
            403,
            .badCertificateEnvironment,
            Verdict(.parkCredential, .credential),
            "The provider certificate is for the other environment.",
            remedy: "Correct the credential's certificate or its `environment`."
        ),
        Row(
            403,
            .expiredProviderToken,
            Verdict(.refreshProviderToken, .credential),
            "The provider token is over one hour old.",
            remedy: "Nothing, if it happens once; if it repeats, correct this machine's clock."
        ),
        Row(
            403,
            .forbidden,
            Verdict(.rejected, .credential),
            "The credential is not allowed to do this; Apple forbids a retry.",
            remedy: "Check the account, the key's scope and the topic at Apple, then send anew."
        ),
        Row(
            403,
            .invalidProviderToken,
            Verdict(.parkCredential, .credential),
            "The provider token is invalid, its signature cannot be verified, or it is of"
                + " another team than the connection's.",
            remedy: "Check `team_id`, `key_id` and `key_file`, and whether the key was revoked;"
                + " then send the dead letters again."
        ),
        Row(
            403,
            .missingProviderToken,
            Verdict(.parkCredential, .credential),
            "There is neither a provider certificate nor a usable `authorization`.",
            remedy: "Check that nothing between here and APNs strips `authorization`, and that"
                + " a certificate credential is for this topic."
        ),
        Row(
            403,
            .unrelatedKeyIdInToken,
            Verdict(.retryElsewhere, .connection),
            "The key is not related to the one that the connection was first used with.",
            remedy: "Nothing: a new connection is opened. If it repeats, check the key's scope."
        ),
        Row(
            403,
            .badEnvironmentKeyIdInToken,
            Verdict(.parkCredential, .credential),
            "The key is for the other environment"
                + " (also seen as `BadEnvironmentKeyInToken`).",
            remedy: "Correct `environment`, or make a key for this environment."
        ),
        Row(
            429,
            .tooManyProviderTokenUpdates,
            Verdict(.parkCredential, .credential),
            "The provider token changed more than once in 20 minutes.",
            remedy: "Find who else mints tokens with this key or team; then send the dead letters"
                + " again."
        ),
    ]

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
            remedy: "Send less to this device, with `collapse_id`; only this device waits."
        ),
        Row(
            500,
            .internalServerError,
            Verdict(.retryHere, .server),
            "APNs had an internal error.",
            remedy: "Nothing; if it lasts, see Apple's system status page."
        ),
        Row(
            503,
            .serviceUnavailable,
            Verdict(.retryHere, .server),
            "APNs is unavailable.",
            remedy: "Nothing; if it lasts, see Apple's system status page."
        ),
        Row(
            503,
            .shutdown,
            Verdict(.retryElsewhere, .connection),
            "This APNs server is shutting down.",
            remedy: "Nothing: a new connection is opened."
        ),
    ]

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
