import Delivery
import EventSchema
import JSON
import Vocabulary

/// What a record of the token-status topic says, see `schemas/token-status.v1.schema.json`.
enum TokenStatusRecord: Hashable, Sendable {
    /// APNs called the token dead.
    case unregistered(KeyedHash, since: Timestamp)
    /// The token is not dead, but a word stands: another status, or a token that is held because APNs
    /// is not believed.
    case noted(KeyedHash)
    /// Nothing is held against the token: a tombstone.
    case cleared(KeyedHash)

    /// Reads the record; nil for one that is not as the schema has it.
    ///
    /// A 410 without a time counts from when it was observed.
    init?(key: [UInt8]?, value: [UInt8]?, hashKey: HashKey) {
        guard let key, let token = Self.token(key, hashKey) else { return nil }
        guard let value else {
            self = .cleared(token)
            return
        }
        guard let body = try? JSONValue.parse(value), let status = body["status"],
            case .string(let word) = status
        else { return nil }
        guard word == "unregistered", body["token_action"] != .string("hold") else {
            self = .noted(token)
            return
        }
        guard let since = Self.since(body) else { return nil }
        self = .unregistered(token, since: since)
    }

    private static func since(_ body: JSONValue) -> Timestamp? {
        if case .integer(let milliseconds)? = body["unregistered_at"] {
            return Timestamp(milliseconds: milliseconds)
        }
        guard body["unregistered_at"] == .null, case .string(let text)? = body["observed_at"]
        else { return nil }
        return Timestamp(rfc3339: Array(text.utf8)[...])
    }

    /// The key is `<topic>|<environment>|<device_token>`; only the topic could hold a bar.
    private static func token(_ key: [UInt8], _ hashKey: HashKey) -> KeyedHash? {
        guard let text = String(validating: key, as: UTF8.self) else { return nil }
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count >= 3, let token = DeviceToken(String(parts[parts.count - 1])),
            let environment = APNsEnvironment(rawValue: String(parts[parts.count - 2]))
        else { return nil }
        let topic = parts.dropLast(2).joined(separator: "|")
        return hashKey.hash(of: token, topic: APNsTopic(topic), environment: environment)
    }
}
