// Prints five events: topic, key and value, one record a line. To send them, write a `Sender` for
// the Kafka client of your choice.

import Foundation

/// Writes a record, and returns when Kafka has it.
protocol Sender {
    func send(topic: String, key: String, value: Data) async throws
}

extension Sender {
    func send(_ event: some Event, to topic: String) async throws {
        try await send(topic: topic, key: event.key, value: JSONEncoder.events.encode(event))
    }
}

struct Printer: Sender {
    func send(topic: String, key: String, value: Data) {
        let line = Data("\(topic)\t\(key)\t".utf8) + value + Data("\n".utf8)
        FileHandle.standardOutput.write(line)
    }
}

// Payloads of this app.

struct Shipped: Encodable {
    struct APS: Encodable {
        struct Alert: Encodable {
            var title: String
            var body: String
        }
        var alert: Alert
        var sound: String
    }
    var aps: APS
    var order: Int
}

struct News: Encodable {
    struct APS: Encodable {
        var alert: Shipped.APS.Alert
    }
    var aps: APS
}

struct Refresh: Encodable {
    struct APS: Encodable {
        var contentAvailable = 1
        enum CodingKeys: String, CodingKey { case contentAvailable = "content-available" }
    }
    var aps = APS()
}

struct Ring: Encodable {
    struct Call: Encodable {
        var from: String
        var hasVideo: Bool
        enum CodingKeys: String, CodingKey {
            case from
            case hasVideo = "has_video"
        }
    }
    var call: Call
}

struct Goal: Encodable {
    struct APS: Encodable {
        struct Match: Encodable {
            var score: String
        }
        var event: String
        var timestamp: Int
        var contentState: Match
        enum CodingKeys: String, CodingKey {
            case event, timestamp
            case contentState = "content-state"
        }
    }
    var aps: APS
}

let device = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
let otherDevice = "740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
let occurredAt = Date()
let identifier = UUID(uuidString: "123e4567-e89b-12d3-a456-426614174000")
let sender = Printer()

try await sender.send(
    NotificationEvent(
        id: "order-4711-shipped",
        devices: .one(device),
        target: .bundleID("com.example.MyApp"),
        pushType: .alert,
        payload: Shipped(
            aps: .init(
                alert: .init(title: "Shipped", body: "Your parcel is on its way."),
                sound: "default"
            ),
            order: 4711
        ),
        environment: .production,
        priority: .immediate,
        expiration: .at(occurredAt.addingTimeInterval(24 * 60 * 60)),
        collapseID: "order-4711",
        apnsID: identifier,
        tokenRegisteredAt: RegistrationTime(date: Date("2025-10-09T08:53:20Z", strategy: .iso8601)),
        occurredAt: occurredAt,
        metadata: ["tenant": "a"]
    ),
    to: "notifications"
)
try await sender.send(
    NotificationEvent(
        id: "order-4711-refresh",
        devices: .one(device),
        target: .bundleID("com.example.MyApp"),
        pushType: .background,
        payload: Refresh()
    ),
    to: "notifications"
)
try await sender.send(
    NotificationEvent(
        id: "call-17",
        devices: .one(device.uppercased()),
        target: .topic("com.example.MyApp.voip"),
        pushType: .voip,
        payload: Ring(call: .init(from: "Zoë", hasVideo: false)),
        expiration: .once
    ),
    to: "notifications"
)
try await sender.send(
    NotificationEvent(
        id: "news-88",
        devices: .several([
            Recipient(deviceToken: device),
            Recipient(deviceToken: otherDevice, collapseID: "news"),
        ]),
        target: .bundleID("com.example.MyApp"),
        pushType: .alert,
        payload: News(aps: .init(alert: .init(title: "News", body: "The bridge is open."))),
        campaign: "bridge-opening",
        notBefore: EarliestTime(date: Date("2025-10-09T08:53:20Z", strategy: .iso8601))
    ),
    to: "notifications"
)
try await sender.send(
    BroadcastEvent(
        id: "match-4711-goal-3",
        channelID: "dHN0LXNyY2gtY2hubA==",
        bundleID: "com.example.MyApp",
        payload: Goal(
            aps: .init(event: "update", timestamp: 1_790_000_000, contentState: .init(score: "2:1"))
        ),
        expiration: .once,
        environment: .production,
        priority: .immediate,
        apnsRequestID: identifier,
        occurredAt: occurredAt,
        campaign: "match-4711",
        metadata: ["tenant": "a"]
    ),
    to: "broadcasts"
)
