import Vocabulary

/// Answers to broadcasts and channel requests.
///
/// Source: "Handling error responses from Apple Push Notification service". Rows are shared with
/// the table about devices where Apple's pages agree.
extension ReasonTable {
    public static let broadcastRows =
        channelRows + broadcastRequestRows + sharedRows + broadcastStatusRows

    /// Reasons about the credential, the connection or the server rather than the target.
    private static let sharedRows =
        credentialRows + transientRows.filter { $0.reason != .tooManyRequests }

    private static let channelRows: [Row] = [
        Row(
            400,
            .badChannelID,
            Verdict(.rejected, .event),
            "The channel ID is not valid Base64, or too long.",
            remedy: "Send the ID that APNs returned when the channel was created."
        ),
        Row(
            400,
            .cannotCreateChannelConfig,
            Verdict(.rejected, .event),
            "The app has the maximum of 10,000 channels in this environment.",
            remedy: "Delete channels that are not needed: `heliograph channels list` and `delete`."
        ),
        Row(
            400,
            .channelNotRegistered,
            Verdict(.rejected, .channel),
            "The channel does not exist: it was never created, was deleted, or belongs to the other"
                + " environment.",
            remedy: "Forget the channel's ID, or create another channel and give the apps its ID."
        ),
        Row(
            400,
            .featureNotEnabled,
            // It concerns this app alone; the credential may serve others.
            Verdict(.rejected, .event),
            "The Broadcast Capability is not enabled for the app.",
            remedy: "Enable it for the App ID in the developer portal, under Push Notifications."
        ),
        Row(
            400,
            .missingChannelID,
            Verdict(.rejected, .event),
            "The request has no `apns-channel-id`.",
            remedy: "Report it: Heliograph always sends it. Look for a proxy in between."
        ),
        Row(
            429,
            .tooManyRequests,
            Verdict(.retryHere, .channel),
            "Too many requests.",
            remedy:
                "Send fewer updates to this channel, about one per second; only this channel waits."
        ),
    ]

    private static let broadcastRequestRows: [Row] = [
        Row(
            400,
            .badExpirationDate,
            Verdict(.rejected, .event),
            "The value of `apns-expiration` is not a valid time, or is not 0 for a channel"
                + " without storage.",
            remedy: "Send 0 to a channel without storage, Unix time in seconds to a channel with"
                + " storage."
        ),
        Row(
            400,
            .badMessageID,
            Verdict(.rejected, .event),
            "The value of `apns-request-id` is not a canonical UUID.",
            remedy: "Leave the ID out, or send 32 lower-case digits as 8-4-4-4-12."
        ),
        Row(
            400,
            .badPriority,
            Verdict(.rejected, .event),
            "The priority is not 10, 5 or 1.",
            remedy: "Send 10 or 5."
        ),
        Row(
            400,
            .badRequestParams,
            Verdict(.rejected, .event),
            "The request's JSON has an attribute that APNs does not know.",
            remedy: "Correct the payload: Live Activity keys only."
        ),
        Row(
            400,
            .badRequestPayload,
            Verdict(.rejected, .event),
            "The request's JSON cannot be parsed.",
            remedy: "Report it: Heliograph sends valid JSON only. Look for a proxy in between."
        ),
        Row(
            400,
            .invalidPushType,
            Verdict(.rejected, .event),
            "The push type is not `liveactivity`.",
            remedy: "Report it: Heliograph sends `liveactivity` only."
        ),
        Row(
            400,
            .missingPushType,
            Verdict(.rejected, .event),
            "The push type is missing.",
            remedy: "Report it: Heliograph always sends it. Look for a proxy in between."
        ),
        Row(
            400,
            .payloadEmpty,
            Verdict(.rejected, .event),
            "The request has no payload.",
            remedy: "Report it: a broadcast's payload is at least `{}`."
        ),
        Row(
            400,
            .topicDisallowed,
            Verdict(.rejected, .event),
            "The credential may not push to the path's bundle ID, or the bundle ID has a suffix.",
            remedy: "Give the app's bundle ID alone, without a suffix such as"
                + " `.push-type.liveactivity`."
        ),
        Row(
            403,
            .topicMismatch,
            Verdict(.rejected, .credential),
            "The credential does not cover the path's bundle ID.",
            remedy: "Check the key's scope and the bundle ID, including its case."
        ),
        Row(
            404,
            .badPath,
            Verdict(.rejected, .event),
            "The path of the request is wrong.",
            remedy: "Check the endpoint's URL: broadcasts go to the push host, channels are managed"
                + " on another host."
        ),
        Row(
            405,
            .methodNotAllowed,
            Verdict(.rejected, .event),
            "The request's method is not allowed for the path.",
            remedy: "Report it. Look for a proxy in between."
        ),
        Row(
            413,
            .payloadTooLarge,
            Verdict(.rejected, .event),
            "The payload is over 5120 bytes.",
            remedy: "Shorten the payload; the limit counts bytes of UTF-8."
        ),
    ]

    /// The rows about devices, without the 410 row: no device token is involved, so 410 is one more
    /// 4xx.
    static let broadcastStatusRows: [Row] = statusRows.compactMap { row in
        switch row.statuses {
        case 410...410: nil
        case 429...429:
            Row(
                429,
                nil,
                needsReason: true,
                Verdict(.retryHere, .channel),
                "Too many requests.",
                remedy: "Send fewer updates to this channel; only this channel waits."
            )
        default: row
        }
    }
}
