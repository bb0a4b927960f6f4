package import Configuration
import EventCodec
import JSON
import JSONSchema
package import Vocabulary

/// Checks one document at a time; reused for all documents.
package protocol DocumentChecker: AnyObject {
    /// In bytes; a longer document is rejected without being read.
    var maxByteCount: Int { get }

    /// Checks a document, which may be any bytes.
    func check(_ document: [UInt8]) -> CheckedDocument
}

/// The result of a check.
package struct CheckedDocument: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
        /// Valid; any violations are warnings.
        case valid
        case invalid
        /// Not JSON, or too large to read.
        case unreadable
    }

    /// How many entries of an event's `recipients` are of each kind.
    package struct Recipients: Hashable, Sendable {
        package var valid: Int
        package var duplicate: Int
        package var invalid: Int

        package init(valid: Int, duplicate: Int, invalid: Int) {
            self.valid = valid
            self.duplicate = duplicate
            self.invalid = invalid
        }
    }

    package var verdict: Verdict
    package var violations: [Violation]
    /// nil: there are none, or the event is invalid as a whole.
    package var recipients: Recipients?

    package init(verdict: Verdict, violations: [Violation], recipients: Recipients? = nil) {
        self.verdict = verdict
        self.violations = violations
        self.recipients = recipients
    }

    /// The result for a document that cannot be read.
    static func unreadable(_ message: String) -> CheckedDocument {
        let violation = Violation(instanceLocation: "", keywordLocation: "", message: message)
        return refused(violation)
    }

    /// The result for a violation of the whole document; without a keyword it is `unreadable`.
    static func refused(_ violation: Violation) -> CheckedDocument {
        let verdict = violation.keywordLocation.isEmpty ? Verdict.unreadable : .invalid
        return CheckedDocument(verdict: verdict, violations: [violation])
    }
}

/// Checks events exactly as the service does, with its decoder.
package final class EventChecker: DocumentChecker {
    package let maxByteCount: Int
    private var decoder: EventDecoder
    /// nil: events are notifications.
    private let broadcastSchema: BroadcastSchema?
    /// A topic without own schemas, because those are bound to topics.
    private static let noTopic = KafkaTopic("")

    /// Makes a checker with the service's default limits.
    ///
    /// - Parameters:
    ///   - kind: The kind of source of the events.
    ///   - payload: The checks for a notification's payload; a broadcast's always gets all of them.
    package init(
        _ kind: Configuration.SourceKind = .notification,
        payload: Configuration.PayloadChecks
    ) {
        let limits = JSONLimits()
        maxByteCount = limits.maxByteCount
        broadcastSchema = kind == .broadcast ? BroadcastSchema() : nil
        decoder = EventDecoder(payloadPolicy: payload.policy, limits: limits)
    }

    package func check(_ document: [UInt8]) -> CheckedDocument {
        var record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: document
        )
        switch decoder.decode(&record, from: Self.noTopic, as: broadcastSchema) {
        case .event(let event):
            return CheckedDocument(verdict: .valid, violations: event.allWarnings)
        case .fanOut(let event, awaiting: _): return CheckedDocument(event)
        case .invalid(let event):
            guard decoder.framing == .unreadable, let violation = event.violations.first else {
                return CheckedDocument(verdict: .invalid, violations: event.violations)
            }
            return .refused(violation)
        case .awaitingSchema, .unreadable:
            preconditionFailure("without a Schema Registry no schema is waited for")
        case .tombstone:
            preconditionFailure("a record with a value is no tombstone")
        }
    }
}

extension CheckedDocument {
    /// The result for an event with recipients: one invalid entry makes it invalid.
    fileprivate init(_ event: FanOut) {
        let list = event.recipients
        let refusals = (0..<list.count).compactMap { list.refusal(at: $0) }
        self.init(
            verdict: refusals.isEmpty ? .valid : .invalid,
            violations: event.common.allWarnings + refusals.flatMap(\.violations),
            recipients: Recipients(
                valid: list.validCount,
                duplicate: list.duplicateCount,
                invalid: list.invalidCount
            )
        )
    }
}

/// Checks documents against any schema.
package final class SchemaChecker: DocumentChecker {
    package let maxByteCount: Int
    private let schema: Schema
    private var document: JSONDocument

    init(_ schema: Schema) {
        let limits = JSONLimits(maxByteCount: 15 << 20, maxDepth: 128)
        maxByteCount = limits.maxByteCount
        self.schema = schema
        document = JSONDocument(limits: limits)
    }

    package func check(_ text: [UInt8]) -> CheckedDocument {
        do {
            try document.parse(Array(text.dropFirst(TextEncoding.markByteCount(text[...]))))
        } catch {
            return .refused(TextEncoding.violation(text[...], error))
        }
        var report = FindingReport()
        if let repeated = document.repeatedMember(in: document.root) {
            report.add(repeated: repeated, in: document)
        }
        schema.addFindings(of: document.root, in: document, to: &report)
        let violations = report.finished().map { Violation($0) }
        return CheckedDocument(
            verdict: violations.isEmpty ? .valid : .invalid,
            violations: violations
        )
    }
}
