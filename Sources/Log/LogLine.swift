package import Foundation
import JSON
import Telemetry
import Vocabulary

/// A log line before it is written.
package struct LogLine: Sendable {
    var time: Date
    var level: LogLevel
    /// A fixed sentence.
    var message: String
    var facts: LogFacts
    /// Whether the line is written even if it repeats: there cannot be many of its kind.
    var isAlwaysWritten = false

    /// The longest fact written; many facts are text from peers, such as an event ID.
    private static let maxFactByteCount = 1024

    package init(time: Date, level: LogLevel, message: String, facts: LogFacts = [:]) {
        self.time = time
        self.level = level
        self.message = message
        self.facts = facts
    }

    var isSummarised: Bool { level > .debug && level < .critical && !isAlwaysWritten }

    /// RFC 3339 in UTC, with milliseconds.
    private static let timeFormat = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    /// `{"time":…,"level":…,"message":…}`, followed by the facts in order of their names.
    package var json: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("time")
        writer.string(time.formatted(Self.timeFormat))
        writer.name("level")
        writer.string(level.rawValue)
        writer.name("message")
        writer.string(message)
        for (name, text) in shownFacts {
            writer.name(name)
            writer.string(text)
        }
        writer.endObject()
        return writer.bytes
    }

    /// Time, level, message, then `name=text`; text that is not plain is quoted.
    package var text: String {
        let level = level.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0)
        let head = "\(time.formatted(Self.timeFormat)) \(level) \(message.printable)"
        return shownFacts.reduce(head) { "\($0) \($1.name)=\(Self.quoted($1.text))" }
    }

    private var shownFacts: [(name: String, text: String)] {
        facts.sortedByName.map { name, text in
            (name: name, text: text.cut(toByteCount: Self.maxFactByteCount))
        }
    }

    /// Quotes text, so that it cannot look like another fact or another line.
    private static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "=")
        }
        guard !isPlain || text.isEmpty else { return text }
        // Not by characters: a combining mark after a quote makes both one other character.
        var escaped = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { escaped.append("\\") }
            escaped.append(scalar)
        }
        return "\"\(String(escaped).printable)\""
    }
}

extension LogLine {
    /// Makes the summary of counted lines: the last of them, with their number.
    package init(_ summary: LineDigest<LogLine>.Summary, time: Date) {
        self = summary.last
        let seconds = max(1, summary.duration.components.seconds)
        let noun = summary.isMixed ? "more of many kinds" : "more of the same"
        self.time = time
        message = "\(message) (\(summary.count) \(noun) in the last \(seconds) s)"
        facts[.repeated] = "\(summary.count)"
        facts[.seconds] = "\(seconds)"
    }
}
