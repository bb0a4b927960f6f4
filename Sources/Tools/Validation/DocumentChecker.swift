package import Configuration
import EventCodec
import JSON
import JSONSchema
package import Vocabulary

/// Checks one document at a time; made once and used for all of them.
package protocol DocumentChecker: AnyObject {
    /// In bytes; a longer document is invalid unread.
    var maxByteCount: Int { get }

    /// What is wrong with a document, whatever its bytes are.
    func check(_ document: [UInt8]) -> CheckedDocument
}

/// What a check found.
package struct CheckedDocument: Hashable, Sendable {
    package enum Verdict: Hashable, Sendable {
        /// The violations, if there are any, are warnings.
        case valid
        case invalid
        /// Not JSON, or too large to be read.
        case unreadable
    }

    package var verdict: Verdict
    package var violations: [Violation]

    package init(verdict: Verdict, violations: [Violation]) {
        self.verdict = verdict
        self.violations = violations
    }

    /// The whole document is the fault.
    static func unreadable(_ message: String) -> CheckedDocument {
        let violation = Violation(instanceLocation: "", keywordLocation: "", message: message)
        return refused(violation)
    }

    /// Of a text without a document; advice about lines does not help with another encoding.
    static func refused(_ violation: Violation) -> CheckedDocument {
        let verdict = violation.keywordLocation.isEmpty ? Verdict.unreadable : .invalid
        return CheckedDocument(verdict: verdict, violations: [violation])
    }
}

/// Checks events exactly as the running service would: by its decoder.
package final class EventChecker: DocumentChecker {
    package let maxByteCount: Int
    private var decoder: EventDecoder
    /// nil: events are notifications.
    private let broadcastSchema: BroadcastSchema?
    /// Own schemas are bound to topics, and there are none here.
    private static let noTopic = KafkaTopic("")

    /// Makes a checker with the service's default limits.
    ///
    /// - Parameters:
    ///   - kind: What the records of the events' topic are.
    ///   - payload: What a notification's payload is held to; a broadcast's is held to all rules.
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
            return CheckedDocument(verdict: .valid, violations: event.warnings)
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
