import Foundation
import JSON
package import Log

/// An event made from command-line options.
///
/// Whether a payload is JSON is all that is checked here: the event goes through the same checks as
/// one from Kafka.
package struct PushEvent {
    package enum Target {
        case device(token: String, pushType: String, collapseID: String?)
        case channel(id: String)
    }

    package enum Payload {
        case alert(String)
        /// Sent as it stands, if it is JSON.
        case json(String)

        /// What is in an option of the command line.
        ///
        /// The event's own check would name a byte of a text that nobody wrote.
        ///
        /// - Throws: `ServiceError` when it is not one JSON document.
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
    ///   - target: A device, or a channel of broadcasts.
    ///   - bundleID: The app's, without any suffix.
    ///   - environment: nil: the credential's own.
    ///   - priority: nil: the push type's own.
    ///   - expiration: Epoch seconds, or 0; nil: 0 for a channel, not sent for a device.
    ///   - payload: What the device gets.
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

    /// The event's JSON; every one has an `id` of its own.
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
        }
    }

    /// APNs requires it of broadcasts; 0 is right for channels of either storage policy.
    private var expires: Int64? {
        switch target {
        case .device: expiration
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
