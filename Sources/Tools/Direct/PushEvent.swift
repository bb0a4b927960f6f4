import Foundation
import JSON
package import Log

/// An event made from command-line options.
///
/// Only the payload is checked here, for being JSON: the event later passes the same checks as one
/// from Kafka.
package struct PushEvent {
    package enum Target {
        case device(token: String, pushType: String, collapseID: String?)
        case channel(id: String)
        /// Device tokens.
        case recipients([String], pushType: String, collapseID: String?)
    }

    package enum Payload {
        case alert(String)
        /// Sent unchanged, if it is JSON.
        case json(String)

        /// Checks the JSON of a command-line option.
        ///
        /// Without this, the event's check would report a byte offset in text that the user did not
        /// write.
        ///
        /// - Throws: `ServiceError` if it is not exactly one JSON document.
        package init(json text: String, of option: String) throws(ServiceError) {
            var document = JSONDocument()
            do throws(JSONError) {
                try document.parse(Array(text.utf8))
            } catch {
                throw ServiceError(text: "\(option): \(error)")
            }
            self = .json(text)
        }
    }

    private let target: Target
    private let bundleID: String
    private let environment: String?
    private let priority: Int?
    private let expiration: Int64?
    private let payload: Payload

    /// - Parameters:
    ///   - target: A device, several of them, or a broadcast channel.
    ///   - bundleID: The app's bundle ID, without a topic suffix.
    ///   - environment: nil: the credential's own.
    ///   - priority: nil: the push type's default.
    ///   - expiration: Epoch seconds, or 0; nil: 0 for a channel, no header for a device.
    ///   - payload: The payload that the device receives.
    package init(
        to target: Target,
        bundleID: String,
        environment: String?,
        priority: Int?,
        expiration: Int64?,
        payload: Payload
    ) {
        self.target = target
        self.bundleID = bundleID
        self.environment = environment
        self.priority = priority
        self.expiration = expiration
        self.payload = payload
    }

    /// The event's JSON; each event gets its own `id`.
    package var utf8: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        let common = [
            ("id", "push-\(UUID().uuidString.lowercased())"), ("bundle_id", bundleID),
            ("environment", environment),
        ]
        for (name, value) in common + targetFields {
            guard let value else { continue }
            writer.name(name)
            writer.string(value)
        }
        if case .recipients(let tokens, _, _) = target {
            writer.name("recipients")
            writer.beginArray()
            for token in tokens { writer.string(token) }
            writer.endArray()
        }
        for (name, value) in [("priority", priority.map(Int64.init)), ("expiration", expires)] {
            guard let value else { continue }
            writer.name(name)
            writer.integer(value)
        }
        writer.name("payload")
        write(payload, to: &writer)
        writer.endObject()
        return writer.bytes
    }

    private var targetFields: [(String, String?)] {
        switch target {
        case .device(let token, let pushType, let collapseID):
            [("device_token", token), ("push_type", pushType), ("collapse_id", collapseID)]
        case .channel(let id): [("channel_id", id)]
        case .recipients(_, let pushType, let collapseID):
            [("push_type", pushType), ("collapse_id", collapseID)]
        }
    }

    /// Broadcasts must have an expiration; 0 is valid for channels of either storage policy.
    private var expires: Int64? {
        switch target {
        case .device, .recipients: expiration
        case .channel: expiration ?? 0
        }
    }

    private func write(_ payload: Payload, to writer: inout JSONWriter) {
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
    }
}
