/// Why a notification ended as it did: APNs' reason, or ours in the same style.
public enum Reason: Hashable, Sendable {
    case apns(APNsReason)
    /// A string that APNs sent and this version does not know, cut to 64 bytes.
    case unknownAPNs(String)
    case local(LocalReason)

    /// Reads the `reason` of an APNs answer.
    public init(apnsText text: String) {
        if let known = APNsReason(rawValue: text) {
            self = .apns(known)
        } else if let known = Self.otherSpellings[text] {
            self = .apns(known)
        } else {
            self = .unknownAPNs(Self.cut(text))
        }
    }

    /// The first 64 bytes, less what is a part of a character at their end; of what a reader takes
    /// for one letter, marks without end can be a part.
    private static func cut(_ text: String) -> String {
        guard text.utf8.count > 64 else { return text }
        var start = String.UnicodeScalarView()
        var byteCount = 0
        for scalar in text.unicodeScalars {
            byteCount += UTF8.width(scalar)
            guard byteCount <= 64 else { break }
            start.append(scalar)
        }
        return String(start)
    }

    /// Reads back what `text` said; a name that both lists know is taken for Heliograph's.
    public init(recorded text: String) {
        self = LocalReason(rawValue: text).map(Reason.local) ?? Reason(apnsText: text)
    }

    private static let otherSpellings: [String: APNsReason] = [
        // Seen on the wire; Apple's page prints the other one.
        "BadEnvironmentKeyInToken": .badEnvironmentKeyIdInToken,
        // Apple's page about broadcasts prints it with a space.
        "Service Unavailable": .serviceUnavailable,
    ]

    public var text: String {
        switch self {
        case .apns(let reason): reason.rawValue
        case .unknownAPNs(let text): text
        case .local(let reason): reason.rawValue
        }
    }
}

/// The reasons of APNs ("Handling notification responses from APNs", table "Error strings", and
/// "Handling error responses from Apple Push Notification service" about broadcasts).
public enum APNsReason: String, Hashable, Sendable, CaseIterable {
    case badCollapseID = "BadCollapseId"
    case badDeviceToken = "BadDeviceToken"
    case badExpirationDate = "BadExpirationDate"
    case badMessageID = "BadMessageId"
    case badPriority = "BadPriority"
    case badTopic = "BadTopic"
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    case duplicateHeaders = "DuplicateHeaders"
    case idleTimeout = "IdleTimeout"
    case invalidPushType = "InvalidPushType"
    case missingDeviceToken = "MissingDeviceToken"
    case missingTopic = "MissingTopic"
    case payloadEmpty = "PayloadEmpty"
    case topicDisallowed = "TopicDisallowed"
    case badCertificate = "BadCertificate"
    case badCertificateEnvironment = "BadCertificateEnvironment"
    case expiredProviderToken = "ExpiredProviderToken"
    case forbidden = "Forbidden"
    case invalidProviderToken = "InvalidProviderToken"
    case missingProviderToken = "MissingProviderToken"
    case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
    case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
    case badPath = "BadPath"
    case methodNotAllowed = "MethodNotAllowed"
    case expiredToken = "ExpiredToken"
    case unregistered = "Unregistered"
    case payloadTooLarge = "PayloadTooLarge"
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case shutdown = "Shutdown"
    // About broadcasts and channels only.
    case badChannelID = "BadChannelId"
    case badRequestParams = "BadRequestParams"
    case badRequestPayload = "BadRequestPayload"
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    case channelNotRegistered = "ChannelNotRegistered"
    case featureNotEnabled = "FeatureNotEnabled"
    case missingChannelID = "MissingChannelId"
    case missingPushType = "MissingPushType"
    case topicMismatch = "TopicMismatch"
}

/// The reasons that Heliograph itself gives: a closed list.
public enum LocalReason: String, Hashable, Sendable, CaseIterable {
    /// The record's value is not UTF-8, not JSON, nested too deeply, or wrongly framed, or it says
    /// something twice.
    case malformedEvent = "MalformedEvent"
    /// The record's value is larger than `limits.event_bytes`.
    case eventTooLarge = "EventTooLarge"
    /// The event breaks its schema.
    case schemaViolation = "SchemaViolation"
    /// The Schema Registry does not know the schema that the record names.
    case unknownSchema = "UnknownSchema"
    /// The schema that the record names is not a JSON Schema, or one that cannot be enforced.
    case unusableSchema = "UnusableSchema"
    /// The Schema Registry could not be asked for the record's schema within `retry.here_for`.
    case schemaUnavailable = "SchemaUnavailable"
    /// The payload is over APNs' limit; never sent.
    case payloadTooLarge = "PayloadTooLarge"
    /// `expiration` passed before APNs accepted the notification.
    case expired = "Expired"
    /// The event was older than `limits.event_age` before APNs accepted it.
    case eventTooOld = "EventTooOld"
    /// A newer event with the same `collapse_id` came while the device had to wait, or a newer
    /// broadcast came to the channel.
    case superseded = "Superseded"
    /// The endpoint failed so often that nothing is sent to it for now.
    case endpointUnavailable = "EndpointUnavailable"
    /// The credential's queue took more than its share of memory and did not move.
    case routeCongested = "RouteCongested"
    /// The events for one device took more than their share of memory: they are sent one by one.
    case deviceCongested = "DeviceCongested"
    /// APNs refused the certificate in the TLS handshake.
    case certificateRefused = "CertificateRefused"
    /// No credential covers the event's bundle ID or topic.
    case noCredential = "NoCredential"
    /// The credential is a certificate, with which APNs takes no notification of this push type.
    case providerTokenRequired = "ProviderTokenRequired"
    /// APNs has called the token dead (410), and it was not registered since; not sent.
    case tokenUnregistered = "TokenUnregistered"
    /// The same notification is being sent, or was accepted; not sent again.
    case duplicateEvent = "DuplicateEvent"
    /// An earlier entry of the event's `recipients` has the same token; not sent again.
    case duplicateRecipient = "DuplicateRecipient"
    /// The event's campaign was cancelled before it was sent.
    case campaignCancelled = "CampaignCancelled"
    /// The event's campaign was paused for longer than events can wait in memory.
    case campaignPaused = "CampaignPaused"
    /// The event's `not_before` has not come yet.
    case notDueYet = "NotDueYet"
    /// The event's `not_before` is further ahead than `limits.not_before`.
    case notBeforeTooFar = "NotBeforeTooFar"
    /// APNs did not answer the last attempt within `apns.request_timeout`.
    case requestTimeout = "RequestTimeout"
    /// The stream or its connection broke before the answer to the last attempt.
    case streamBroken = "StreamBroken"
    /// APNs answered with a status that it does not document, or without a reason.
    case unexplainedStatus = "UnexplainedStatus"
}
