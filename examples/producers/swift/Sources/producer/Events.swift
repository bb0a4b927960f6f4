import Foundation

/// Sent as apns-push-type.
enum PushType: String, Encodable, Sendable {
    case alert, background, location, voip, complication, fileprovider, mdm
    case liveactivity, pushtotalk, widgets, controls
}

enum Environment: String, Encodable, Sendable {
    case production, sandbox
}

/// Sent as apns-priority.
enum Priority: Int, Encodable, Sendable {
    case immediate = 10
    case powerAware = 5
    case neverWake = 1
}

/// When an event is worthless.
enum Expiration: Encodable, Sendable {
    /// If the device is away: one attempt, no storage.
    case once
    case at(Date)

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .once: try container.encode(0)
        case .at(let date): try container.encode(Int(date.timeIntervalSince1970))
        }
    }
}

/// When the app last reported its device token.
struct RegistrationTime: Encodable, Sendable {
    var date: Date

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Int(date.timeIntervalSince1970 * 1000))
    }
}

/// The earliest time to send an event.
struct EarliestTime: Encodable, Sendable {
    var date: Date

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Int(date.timeIntervalSince1970))
    }
}

/// What a record of one of Heliograph's sources holds.
protocol Event: Encodable, Sendable {
    /// The record's key, a token in lower case: the events of a device, or of a channel, keep their order.
    var key: String { get }
}

/// One of an event's devices, with fields that replace the event's.
struct Recipient: Encodable, Sendable {
    var deviceToken: String
    var apnsID: UUID?
    var collapseID: String?
    var expiration: Expiration?

    private enum CodingKeys: String, CodingKey {
        case expiration
        case deviceToken = "device_token"
        case apnsID = "apns_id"
        case collapseID = "collapse_id"
    }
}

/// One notification for one device, or for each of several; the schema `notification-event.v1` explains each field.
struct NotificationEvent<Payload: Encodable & Sendable>: Event {
    /// Either the app, to which the push type's suffix is added, or the APNs topic as it is.
    enum Target: Sendable {
        case bundleID(String)
        case topic(String)
    }

    enum Devices: Sendable {
        case one(String)
        /// Up to 1000; each has its own notification ID, and the event has none.
        case several([Recipient])
    }

    /// Equal for every copy of the event: it is what a repetition is known by.
    var id: String
    var devices: Devices
    var target: Target
    var pushType: PushType
    var payload: Payload
    var environment: Environment?
    var priority: Priority?
    var expiration: Expiration?
    var collapseID: String?
    var apnsID: UUID?
    var tokenRegisteredAt: RegistrationTime?
    var occurredAt: Date?
    var campaign: String?
    var notBefore: EarliestTime?
    var metadata: [String: String]?

    var key: String {
        switch devices {
        case .one(let deviceToken): deviceToken.lowercased()
        case .several: id
        }
    }

    // A strategy for keys would change those of the payload as well.
    private enum CodingKeys: String, CodingKey {
        case id, recipients, topic, payload, environment, priority, expiration, campaign, metadata
        case deviceToken = "device_token"
        case bundleID = "bundle_id"
        case pushType = "push_type"
        case collapseID = "collapse_id"
        case apnsID = "apns_id"
        case tokenRegisteredAt = "token_registered_at"
        case occurredAt = "occurred_at"
        case notBefore = "not_before"
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        switch devices {
        case .one(let deviceToken): try container.encode(deviceToken, forKey: .deviceToken)
        case .several(let recipients): try container.encode(recipients, forKey: .recipients)
        }
        switch target {
        case .bundleID(let bundleID): try container.encode(bundleID, forKey: .bundleID)
        case .topic(let topic): try container.encode(topic, forKey: .topic)
        }
        try container.encode(pushType, forKey: .pushType)
        try container.encode(payload, forKey: .payload)
        try container.encodeIfPresent(environment, forKey: .environment)
        try container.encodeIfPresent(priority, forKey: .priority)
        try container.encodeIfPresent(expiration, forKey: .expiration)
        try container.encodeIfPresent(collapseID, forKey: .collapseID)
        try container.encodeIfPresent(apnsID, forKey: .apnsID)
        try container.encodeIfPresent(tokenRegisteredAt, forKey: .tokenRegisteredAt)
        try container.encodeIfPresent(occurredAt, forKey: .occurredAt)
        try container.encodeIfPresent(campaign, forKey: .campaign)
        try container.encodeIfPresent(notBefore, forKey: .notBefore)
        try container.encodeIfPresent(metadata, forKey: .metadata)
    }
}

/// One update for every subscriber of a channel; see the schema `broadcast-event.v1`.
struct BroadcastEvent<Payload: Encodable & Sendable>: Event {
    var id: String
    var channelID: String
    var bundleID: String
    var payload: Payload
    var expiration: Expiration
    var environment: Environment?
    var priority: Priority?
    var apnsRequestID: UUID?
    var occurredAt: Date?
    var campaign: String?
    var metadata: [String: String]?

    var key: String { channelID }

    private enum CodingKeys: String, CodingKey {
        case id, payload, expiration, environment, priority, campaign, metadata
        case channelID = "channel_id"
        case bundleID = "bundle_id"
        case apnsRequestID = "apns_request_id"
        case occurredAt = "occurred_at"
    }
}

extension JSONEncoder {
    /// Makes the values of records.
    static var events: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = .withoutEscapingSlashes
        return encoder
    }
}
