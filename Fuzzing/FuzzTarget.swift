import EventCodec
import JSON
import JSONSchema
import Vocabulary

/// What libFuzzer calls with each input; `scripts/fuzz` builds and runs it.
///
/// An input is tried as a record's value, and, cut at its first line end, as a schema and a
/// document to check with it, and as a campaign's order. Whatever the bytes are, nothing may trap,
/// run without end, or contradict itself.
private final class FuzzTarget {
    private var decoder = EventDecoder()
    private var document = JSONDocument()
    private let outcomeSchema = EmbeddedSchema.notificationOutcomeV1.compiled()
    private var encoder = OutcomeEncoder()
    private let source = TopicPartition(topic: KafkaTopic("fuzz"), partition: 0)

    func take(_ input: [UInt8]) {
        decode(input)
        if let order = try? CampaignOrder(parsing: input) {
            precondition((try? CampaignOrder(parsing: order.value)) == order, "the order changed")
        }
        guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else { return }
        check(Array(input[(end + 1)...]), against: Array(input[..<end]))
    }

    private func decode(_ value: [UInt8]) {
        var record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: value
        )
        switch decoder.decode(&record, from: source.topic) {
        case .event(let event):
            let limit = event.pushType == .voip ? 5120 : 4096
            precondition(
                event.payload.upperBound <= record.eventBytes?.count ?? 0,
                "the payload is no part of it"
            )
            precondition((2...limit).contains(event.payload.count), "a payload of no such size")
            bound(event.warnings)
            publish(.accepted, record, event.warnings, event.metadata, event.campaign)
        case .invalid(let event):
            precondition(!event.violations.isEmpty, "invalid without a violation")
            bound(event.violations)
            publish(.invalid, record, event.violations, event.metadata, event.campaign)
        case .fanOut(let event, awaiting: nil): take(event, of: record)
        case .awaitingSchema, .fanOut, .unreadable:
            preconditionFailure("without a Schema Registry no schema is waited for")
        case .tombstone:
            preconditionFailure("a record with a value is no tombstone")
        }
    }

    /// Each entry has an outcome, and any of them can be written alone.
    private func take(_ event: FanOut, of record: Record) {
        let list = event.recipients
        precondition((1...RecipientPlace.maxCount).contains(list.count), "a list of no such size")
        for index in 0..<list.count {
            let place = RecipientPlace(index: index, count: list.count)
            switch event.recipient(at: index) {
            case .valid(let single), .duplicate(let single):
                precondition(single.recipient == place, "another entry's event")
                publish(.accepted, record, single.warnings, single.metadata, single.campaign, place)
            case .invalid(let invalid):
                precondition(!invalid.violations.isEmpty, "invalid without a violation")
                bound(invalid.violations)
                publish(
                    .invalid,
                    record,
                    invalid.violations,
                    invalid.metadata,
                    invalid.campaign,
                    place
                )
            }
        }
        var last = Record(
            partition: record.partition,
            offset: record.offset,
            timestamp: nil,
            key: nil,
            value: event.value(keeping: [list.count - 1], of: record)
        )
        guard case .fanOut(let alone, awaiting: nil) = decoder.decode(&last, from: source.topic),
            alone.recipients.count == 1
        else { preconditionFailure("one entry is no event") }
        let isInvalid = list.status(at: list.count - 1) == .invalid
        precondition(isInvalid == (alone.recipients.invalidCount == 1), "the entry has changed")
    }

    /// Whatever an event held, its outcome keeps to the outcome's schema.
    private func publish(
        _ kind: OutcomeKind,
        _ record: Record,
        _ violations: [Violation],
        _ metadata: Range<Int>?,
        _ campaign: CampaignName?,
        _ recipient: RecipientPlace? = nil
    ) {
        var subject = OutcomeSubject(ofEvent: nil)
        subject.metadata = metadata
        subject.recipient = recipient
        subject.campaign = campaign
        let outcome = Outcome(
            kind: kind,
            reason: kind == .accepted ? nil : .local(.schemaViolation),
            decidedBy: kind == .accepted ? .apns : .heliograph,
            subject: subject,
            httpStatus: kind == .accepted ? 200 : nil,
            violations: violations,
            receivedAt: Timestamp(milliseconds: 0),
            completedAt: Timestamp(milliseconds: 1)
        )
        var bytes: [UInt8] = []
        encoder.encode(outcome, record: record, source: source, into: &bytes)
        do {
            try document.parse(bytes)
        } catch {
            preconditionFailure("the outcome is no JSON: \(error)")
        }
        precondition(document.repeatedMember(in: document.root) == nil, "the outcome is ambiguous")
        let found = outcomeSchema.findings(in: document, document.root)
        precondition(found.isEmpty, "the outcome breaks its schema: \(found)")
    }

    private func check(_ text: [UInt8], against schemaText: [UInt8]) {
        guard let schema = try? Schema(text: schemaText), (try? document.parse(text)) != nil
        else { return }
        let isAdmitted = schema.admits(document, document.root)
        let violations = schema.findings(in: document, document.root).map { Violation($0) }
        precondition(isAdmitted == violations.isEmpty, "two checks disagree: \(violations)")
        bound(violations)
    }

    private func bound(_ violations: [Violation]) {
        let byteCount = violations.reduce(0) { count, violation in
            count + violation.instanceLocation.utf8.count + violation.keywordLocation.utf8.count
                + violation.message.utf8.count
        }
        precondition(violations.count <= 20 && byteCount <= 4096, "violations without bound")
    }
}

/// The fuzzer has one thread.
nonisolated(unsafe) private let target = FuzzTarget()

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    unsafe target.take(input)
    return 0
}
