import JSON
import Vocabulary

/// What a run over many lines came to.
package struct ValidationSummary: Hashable, Sendable {
    /// Lines that are not blank.
    package var lines = 0
    package var invalidLines = 0
    /// Valid lines that have violations all the same.
    package var linesWithWarnings = 0
    /// The first line that is no JSON document; counted from 1.
    package var firstUnreadableLine: Int?

    /// One line, after a hint where there is one to give.
    package var text: String {
        guard lines > 0 else { return "there is no line to check" }
        var text = "\(invalidLines) of \(lines) \(lines == 1 ? "line" : "lines") invalid"
        if linesWithWarnings > 0 { text += ", \(linesWithWarnings) with warnings" }
        guard let line = firstUnreadableLine else { return text }
        return """
            line \(line) is no JSON document of its own: each line has to be one whole document \
            ('jq -c . FILE' puts a document on one line)
            \(text)
            """
    }
}

/// Turns newline-delimited JSON into one result a line: `{"line", "valid", "violations"}`.
///
/// Blank lines are counted and give no result. Memory does not grow with the input.
package struct ValidationRun {
    package private(set) var summary = ValidationSummary()
    private let checker: any DocumentChecker
    private var splitter: LineSplitter
    private var lineNumber = 0

    package init(checker: any DocumentChecker) {
        self.checker = checker
        splitter = LineSplitter(maxByteCount: checker.maxByteCount)
    }

    /// Takes the input's next bytes, and appends the results of the lines that end in them.
    package mutating func feed(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
        var lines: [LineSplitter.Line] = []
        splitter.feed(bytes) { lines.append($0) }
        for line in lines { check(line, into: &output) }
    }

    /// The input has ended: appends the result of a last line that has no line end.
    package mutating func finish(into output: inout [UInt8]) {
        var last: LineSplitter.Line?
        splitter.finish { last = $0 }
        if let last { check(last, into: &output) }
    }

    private mutating func check(_ line: LineSplitter.Line, into output: inout [UInt8]) {
        lineNumber += 1
        switch line {
        case .text(let text):
            guard !text.allSatisfy(\.isJSONSpace) else { return }
            conclude(checker.check(text), into: &output)
        case .tooLong(let byteCount):
            let limit = checker.maxByteCount
            let message = "the line has \(byteCount) bytes; \(limit) at most are read"
            conclude(.unreadable(message), into: &output)
        }
    }

    private mutating func conclude(_ result: CheckedDocument, into output: inout [UInt8]) {
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
        write(result, into: &output)
    }

    private func write(_ result: CheckedDocument, into output: inout [UInt8]) {
        var writer = JSONWriter(buffer: output)
        output = []
        writer.beginObject()
        writer.name("line")
        writer.integer(lineNumber)
        writer.name("valid")
        writer.bool(result.verdict == .valid)
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
        output = writer.bytes
        output.append(UInt8(ascii: "\n"))
    }
}

extension UInt8 {
    /// White space of RFC 8259, 2.
    fileprivate var isJSONSpace: Bool {
        self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") || self == UInt8(ascii: "\r")
    }
}
