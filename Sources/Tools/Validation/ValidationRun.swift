import JSON
import Vocabulary

/// The counts of a run over many lines.
package struct ValidationSummary: Hashable, Sendable {
    /// Lines that are not blank.
    package var lines = 0
    package var invalidLines = 0
    /// Valid lines that have violations as warnings.
    package var linesWithWarnings = 0
    /// The first line that is not a JSON document, counted from 1.
    package var firstUnreadableLine: Int?

    /// The progress as text; for a file that has grown during the run, it stops at 100 %.
    package func progress(bytesRead: Int, of byteCount: Int?) -> String {
        let text = "\(lines) \(lines == 1 ? "line" : "lines") checked, \(invalidLines) invalid"
        guard let byteCount, byteCount > 0 else { return text }
        return "\(text), \(min(100, bytesRead * 100 / byteCount)) %"
    }

    /// The result as one line, preceded by a hint if there is one.
    package var text: String {
        guard lines > 0 else { return "the input has no documents; nothing was checked" }
        var text = "\(invalidLines) of \(lines) \(lines == 1 ? "line" : "lines") invalid"
        if linesWithWarnings > 0 { text += ", \(linesWithWarnings) with warnings" }
        guard let line = firstUnreadableLine else { return text }
        return """
            line \(line) is not a whole JSON document; put each document on one line \
            ('jq -c . FILE' does that)
            \(text)
            """
    }
}

/// Checks newline-delimited JSON, with one result per line: `{"line", "valid", "violations"}`.
///
/// The result of an event with recipients also has `recipients`: `{"valid", "duplicate",
/// "invalid"}`, the number of entries of each kind.
///
/// Blank lines are counted but give no result. Memory does not grow with the input: results are
/// written in pieces of about `pieceByteCount`, and at the end of each block.
package struct ValidationRun {
    /// Small, so that a closed pipe is noticed early.
    package static let pieceByteCount = 4096

    package private(set) var summary = ValidationSummary()
    private let checker: any DocumentChecker
    private var splitter: LineSplitter
    private var lineNumber = 0
    /// Results that are not yet written.
    private var results: [UInt8] = []

    package init(checker: any DocumentChecker) {
        self.checker = checker
        splitter = LineSplitter(maxByteCount: checker.maxByteCount)
    }

    /// Checks the next bytes of the input, and writes the results of the lines that end in them.
    package mutating func feed<Failure>(
        _ bytes: ArraySlice<UInt8>,
        _ write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        var rest = bytes
        while let line = splitter.next(in: &rest) {
            check(line)
            if results.count >= Self.pieceByteCount { try flush(write) }
        }
        try flush(write)
    }

    /// Ends the input; writes the result of a last line without a line feed.
    package mutating func finish<Failure>(
        _ write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if let line = splitter.finish() { check(line) }
        try flush(write)
    }

    private mutating func flush<Failure>(
        _ write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard !results.isEmpty else { return }
        try write(results)
        results.removeAll(keepingCapacity: true)
    }

    private mutating func check(_ line: LineSplitter.Line) {
        lineNumber += 1
        switch line {
        case .text(let text):
            guard !text.allSatisfy(\.isJSONSpace) else { return }
            conclude(checker.check(text))
        case .tooLong(let byteCount):
            let limit = checker.maxByteCount
            conclude(.unreadable("the line has \(byteCount) bytes; the limit is \(limit)"))
        }
    }

    private mutating func conclude(_ result: CheckedDocument) {
        summary.lines += 1
        switch result.verdict {
        case .valid:
            if !result.violations.isEmpty { summary.linesWithWarnings += 1 }
        case .invalid:
            summary.invalidLines += 1
        case .unreadable:
            summary.invalidLines += 1
            summary.firstUnreadableLine = summary.firstUnreadableLine ?? lineNumber
        }
        append(result)
    }

    private mutating func append(_ result: CheckedDocument) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("line")
        writer.integer(lineNumber)
        writer.name("valid")
        writer.bool(result.verdict == .valid)
        if let recipients = result.recipients {
            writer.name("recipients")
            writer.beginObject()
            writer.member("valid", Int64(recipients.valid))
            writer.member("duplicate", Int64(recipients.duplicate))
            writer.member("invalid", Int64(recipients.invalid))
            writer.endObject()
        }
        writer.name("violations")
        writer.beginArray()
        for violation in result.violations {
            writer.beginObject()
            writer.name("instance_location")
            writer.string(violation.instanceLocation)
            writer.name("keyword_location")
            writer.string(violation.keywordLocation)
            writer.name("message")
            writer.string(violation.message)
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        results.append(contentsOf: writer.bytes)
        results.append(UInt8(ascii: "\n"))
    }
}

extension UInt8 {
    /// Whether the byte is white space in JSON, without line feed (RFC 8259, section 2).
    fileprivate var isJSONSpace: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r")
    }
}
