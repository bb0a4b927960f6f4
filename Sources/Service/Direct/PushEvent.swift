import Foundation
import JSON

/// An event made of the options of a command line.
///
/// Nothing is checked here: the event goes through the same checks as one from Kafka.
package struct PushEvent {
    package enum Payload {
        case alert(String)
        /// Sent as it stands, if it is JSON.
        case json(String)
    }

    private let deviceToken: String
    private let bundleID: String
    private let pushType: String
    private let environment: String?
    private let priority: Int?
    private let collapseID: String?
    private let payload: Payload

    package init(
        deviceToken: String,
        bundleID: String,
        pushType: String,
        environment: String?,
        priority: Int?,
        collapseID: String?,
        payload: Payload
    ) {
        self.deviceToken = deviceToken
        self.bundleID = bundleID
        self.pushType = pushType
        self.environment = environment
        self.priority = priority
        self.collapseID = collapseID
        self.payload = payload
    }

    /// The event's JSON; every one has an `id` of its own.
    package var utf8: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        let fields = [
            ("id", "push-\(UUID().uuidString.lowercased())"), ("device_token", deviceToken),
            ("bundle_id", bundleID), ("push_type", pushType), ("environment", environment),
            ("collapse_id", collapseID),
        ]
        for (name, value) in fields {
            guard let value else { continue }
            writer.name(name)
            writer.string(value)
        }
        if let priority {
            writer.name("priority")
            writer.integer(Int64(priority))
        }
        writer.name("payload")
        switch payload {
        case .json(let text): writer.raw(text.utf8)
        case .alert(let text):
            writer.beginObject()
            writer.name("aps")
            writer.beginObject()
            writer.name("alert")
            writer.string(text)
            writer.endObject()
            writer.endObject()
        }
        writer.endObject()
        return writer.bytes
    }
}
