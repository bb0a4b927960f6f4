import Vocabulary

/// Answers that repeating the request cannot change.
///
/// Source: "Handling notification responses from APNs", tables of status codes and error strings.
extension ReasonTable {
    static let rejections = requestRows + tokenRows

    private static let requestRows: [Row] = [
        Row(
            400,
            .badCollapseID,
            Verdict(.rejected, .event),
            "The collapse identifier exceeds 64 bytes.",
            remedy: "Shorten `collapse_id`; the limit counts bytes of UTF-8, not characters."
        ),
        Row(
            400,
            .badExpirationDate,
            Verdict(.rejected, .event),
            "The value of `apns-expiration` is not a valid time.",
            remedy: "Send Unix time in seconds, or 0 for deliver now or never."
        ),
        Row(
            400,
            .badMessageID,
            Verdict(.rejected, .event),
            "The value of `apns-id` is not a canonical UUID.",
            remedy: "Leave `apns_id` out, or send 32 lower-case digits as 8-4-4-4-12."
        ),
        Row(
            400,
            .badPriority,
            Verdict(.rejected, .event),
            "The priority is not 10, 5 or 1, or is not allowed for the push type.",
            remedy: "Send 5 for `background`; leave `priority` out when unsure."
        ),
        Row(
            400,
            .badTopic,
            Verdict(.rejected, .event),
            "The topic is invalid.",
            remedy: "Check `bundle_id` or `topic`; a `topic` ends with the push type's suffix."
        ),
        Row(
            400,
            .duplicateHeaders,
            Verdict(.rejected, .event),
            "A header occurs more than once.",
            remedy: "Report it: Heliograph sends each header once. Look for a proxy in between."
        ),
        Row(
            400,
            .invalidPushType,
            Verdict(.rejected, .event),
            "The push type is invalid, or does not fit the topic.",
            remedy: "Send `bundle_id`, so that the topic gets the suffix that the type needs."
        ),
        Row(
            400,
            .missingTopic,
            Verdict(.rejected, .event),
            "The topic is missing and the credential does not imply one.",
            remedy: "Report it: Heliograph always sends a topic. Look for a proxy in between."
        ),
        Row(
            400,
            .payloadEmpty,
            Verdict(.rejected, .event),
            "The request has no payload.",
            remedy: "Report it: an event's payload is at least `{}`."
        ),
        Row(
            400,
            .topicDisallowed,
            Verdict(.rejected, .credential),
            "The credential may not push to this topic.",
            remedy:
                "Check team, key scope and App ID. Only new connections see a change at Apple:"
                + " after a refusal, Heliograph opens new ones once the current ones are 10"
                + " minutes old; a restart opens them at once. Keep the device tokens: they are"
                + " not the cause."
        ),
        Row(
            404,
            .badPath,
            Verdict(.rejected, .event),
            "The path of the request is wrong.",
            remedy: "Check the endpoint's URL; Heliograph sends `/3/device/` and the token."
        ),
        Row(
            405,
            .methodNotAllowed,
            Verdict(.rejected, .event),
            "The request's method is not POST.",
            remedy: "Report it: Heliograph sends POST only. Look for a proxy in between."
        ),
        Row(
            413,
            .payloadTooLarge,
            Verdict(.rejected, .event),
            "The payload is over 4096 bytes, or 5120 for `voip`.",
            remedy: "Shorten the payload; the limit counts bytes of UTF-8."
        ),
    ]

    private static let tokenRows: [Row] = [
        Row(
            400,
            .badDeviceToken,
            Verdict(.rejected, .token, token: .checkEnvironment),
            "The device token is malformed, or belongs to the other environment.",
            remedy:
                "Compare the environment in which the app got the token with the event's. If they"
                + " differ, correct the event's; if not, delete the token. If many tokens fail"
                + " at once, suspect the host or the credential."
        ),
        Row(
            400,
            .deviceTokenNotForTopic,
            Verdict(.rejected, .token, token: .checkTopic),
            "The device token belongs to another topic, or to another kind of push.",
            remedy:
                "Keep the token, but use it only for the app and kind of push that it was reported"
                + " for. For this topic, use the token that the app got for it."
        ),
        Row(
            400,
            .missingDeviceToken,
            Verdict(.rejected, .event),
            "The path has no device token.",
            remedy: "Report it: an event without a token is never sent."
        ),
        Row(
            410,
            .expiredToken,
            Verdict(.unregistered, .token, token: .remove),
            "The device token has expired, for example because its Live Activity has ended.",
            remedy: "Delete the token, unless the app reported it after `unregistered_at`."
        ),
        Row(
            410,
            .unregistered,
            Verdict(.unregistered, .token, token: .remove),
            "The device token is no longer active for the topic.",
            remedy: "Delete the token, unless the app reported it after `unregistered_at`."
        ),
    ]
}
