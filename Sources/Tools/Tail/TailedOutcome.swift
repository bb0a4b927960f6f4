package import Credentials
import Delivery
import EventCodec
import JSON
import Log
package import Vocabulary

/// A record of the results topic, for people and programs.
///
/// The device token is a credential: filters compare it, but it is never shown.
package struct TailedOutcome: Sendable {
    package let kind: OutcomeKind
    package let reason: String?
    package let tokenAction: TokenAction?
    package let eventID: String?
    package let campaign: String?
    /// The index in the event's `recipients`; nil: the event has none, or is invalid as a whole.
    package let recipient: Int64?
    package let apnsTopic: String?
    package let credential: String?
    /// The fingerprint of its device token; nil without a key or a token.
    package let fingerprint: String?
    let deviceToken: DeviceToken?
    /// The time at which it was written to Kafka.
    let time: Timestamp?
    private let fields: JSONObject
    private let place: RecordPosition

    /// Reads a record of the results topic; nil if it is not an outcome.
    package init?(_ record: Record, at partition: TopicPartition, key: FingerprintKey?) {
        guard let value = record.value, let fields = try? JSONValue.parse(value).object,
            let kind = fields["outcome"]?.string.flatMap(OutcomeKind.init(rawValue:))
        else { return nil }
        self.kind = kind
        self.fields = fields
        reason = fields["reason"]?.string
        tokenAction = fields["token_action"]?.string.flatMap(TokenAction.init(rawValue:))
        eventID = fields["event_id"]?.string
        campaign = fields["campaign"]?.string
        recipient = fields["recipient"]?.integer
        apnsTopic = fields["topic"]?.string
        credential = fields["credential"]?.string
        deviceToken = fields["device_token"]?.string.flatMap { DeviceToken($0) }
        fingerprint = deviceToken.flatMap { key?.fingerprint(of: $0) }
        time = record.timestamp
        place = RecordPosition(partition: partition, offset: record.offset)
    }

    /// The columns of its line: time, outcome, reason, app, event, then `name=text`.
    package var columns: [String] {
        let status = fields["http_status"]?.integer.map { "status=\($0)" }
        let numbers = [("attempts", ""), ("latency_ms", " ms")].compactMap { name, unit in
            fields[name]?.integer.map { "\(name.prefix { $0 != "_" })=\($0)\(unit)" }
        }
        let details = [
            named("recipient", recipientText), status, numbers.first, numbers.dropFirst().first,
            named("campaign", campaign), named("credential", credential),
            named("environment", fields["environment"]?.string),
            fields["token_action"]?.string.flatMap { $0 == "keep" ? nil : "token=\($0)" },
            named("device", fingerprint),
        ]
        let head = [time?.rfc3339Text, kind.rawValue, reason, apnsTopic, eventID]
        return head.map { $0?.printable ?? "-" } + details.compactMap { $0?.printable }
    }

    /// The outcome's own fields except the device token, then `device` and `outcome_record`.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        for member in fields.members where member.name != "device_token" {
            writer.name(member.name)
            writer.value(member.value)
        }
        writer.name("device")
        writer.string(fingerprint)
        writer.name("outcome_record")
        writer.beginObject()
        writer.name("topic")
        writer.string(place.partition.topic.name)
        writer.name("partition")
        writer.integer(Int64(place.partition.partition))
        writer.name("offset")
        writer.integer(place.offset.rawValue)
        writer.name("time")
        writer.string(time?.rfc3339Text)
        writer.endObject()
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The index in `recipients`, and how many there are: `3/500`.
    private var recipientText: String? {
        recipient.map { "\($0)/\(fields["recipients"]?.integer.map(String.init) ?? "?")" }
    }

    private func named(_ name: String, _ text: String?) -> String? {
        text.map { "\(name)=\($0)" }
    }
}
