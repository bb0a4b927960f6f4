import Vocabulary

/// Answers about the credential: its key, its certificate, its provider token.
///
/// Source: "Handling notification responses from APNs", tables of status codes and error strings.
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
            remedy:
                "Check the account, the key's scope and the topic at Apple, then send the event again."
        ),
        Row(
            403,
            .invalidProviderToken,
            Verdict(.parkCredential, .credential),
            "The provider token is invalid, its signature cannot be verified, or its team"
                + " is not the connection's.",
            remedy: "Check `team_id`, `key_id` and `key_file`, and whether the key was revoked;"
                + " then send the dead letters again."
        ),
        Row(
            403,
            .missingProviderToken,
            Verdict(.parkCredential, .credential),
            "The request has neither a provider certificate nor a usable `authorization`.",
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
            remedy: "Correct `environment`, or create a key for this environment."
        ),
        Row(
            429,
            .tooManyProviderTokenUpdates,
            Verdict(.parkCredential, .credential),
            "The provider token changed more than once in 20 minutes.",
            remedy: "Find out which other program issues tokens with this key or team (all"
                + " Heliograph processes send the same token); then send the dead letters again."
        ),
    ]
}
