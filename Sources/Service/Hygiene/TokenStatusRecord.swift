import APNsRules
package import Delivery
import EventCodec
import JSON
package import Vocabulary

/// A record of the token-status topic; see `schemas/token-status.v1.schema.json`.
package struct TokenStatusRecord: Hashable, Sendable {
    package enum Word: Hashable, Sendable {
        /// APNs called the token dead.
        case unregistered(since: Timestamp)
        /// The token is not dead, but has another status, or is held because APNs is not trusted.
        case noted
        /// A tombstone: nothing is known against the token.
        case cleared
    }

    /// The key as it is in the topic.
    package let key: [UInt8]
    /// The key with the token in lower case.
    package let canonicalKey: [UInt8]
    package let device: KeyedHash
    package let word: Word
    /// When APNs said so: `observed_at`, or the record's timestamp if it is a tombstone or has
    /// none.
    package let time: Timestamp

    /// Parses the record; nil if it violates the schema.
    ///
    /// A 410 without a plausible time counts from when it was observed: a time in microseconds, for
    /// example, would be later than every future registration. No time is later than `now`, the
    /// time of reading, regardless of the writer's clock.
    package init?(_ record: Record, hashKey: HashKey, now: Timestamp) {
        guard let key = record.key, let text = String(validating: key, as: UTF8.self) else {
            return nil
        }
        // `<topic>|<environment>|<device_token>`; only the topic can contain a bar.
        let parts = text.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count >= 3, let token = DeviceToken(String(parts[parts.count - 1])),
            let environment = APNsEnvironment(rawValue: String(parts[parts.count - 2]))
        else { return nil }
        let topic = parts.dropLast(2).joined(separator: "|")
        self.key = key
        canonicalKey = key.dropLast(token.digitCount) + token.canonicalDigits
        device = hashKey.hash(of: token, topic: APNsTopic(topic), environment: environment)
        let written = record.timestamp ?? Timestamp(milliseconds: .min)
        guard let value = record.value else {
            word = .cleared
            time = written
            return
        }
        guard let body = try? JSONValue.parse(value), case .string(let status)? = body["status"]
        else { return nil }
        let observed = Self.observed(body)
        time = observed ?? written
        guard status == "unregistered", body["token_action"] != .string("hold") else {
            word = .noted
            return
        }
        let said = min(observed ?? record.timestamp ?? now, now)
        switch (body["unregistered_at"], observed) {
        case (.integer(let milliseconds)?, _):
            let since = Timestamp(milliseconds: milliseconds)
            word = .unregistered(since: since.plausibleEnd(now: said) ?? said)
        case (.null?, _?): word = .unregistered(since: said)
        default: return nil
        }
    }

    private static func observed(_ body: JSONValue) -> Timestamp? {
        guard case .string(let text)? = body["observed_at"] else { return nil }
        return Timestamp(rfc3339: Array(text.utf8)[...])
    }
}
