import Foundation
import JSON
import Vocabulary

/// A line of an events file: what to publish, and which outcome to expect.
///
/// A line is `{"value": …}` with any JSON, `{"raw": "text"}` or `{"base64": "…"}`, with optional
/// `key`, `headers` and `expect`; or it is an event itself, with no expectation. `expect` is a list
/// for an event with recipients: one expectation for each of them, in order.
struct DemoEvent: Sendable {
    enum Expectation: Hashable, Sendable {
        case outcome(String, reason: String?)
        /// As above, with any reason.
        case outcomeOfAnyReason(String)
        /// A tombstone, which gets no outcome.
        case nothing
    }

    var line: Int
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [RecordHeader]
    /// For each outcome, in the order of the recipients; nil: any outcomes.
    var expectations: [Expectation]?

    /// Reads a file; reports each line that is not an event line, with its number.
    static func read(_ path: String) throws(DemoError) -> [DemoEvent] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw DemoError("events file '\(path)' cannot be read")
        }
        var events: [DemoEvent] = []
        let lines = Array(data).split(
            separator: UInt8(ascii: "\n"),
            omittingEmptySubsequences: false
        )
        for (index, line) in lines.enumerated() where !line.isEmpty {
            events.append(try DemoEvent(Array(line), number: index + 1, file: path))
        }
        guard !events.isEmpty else { throw DemoError("events file '\(path)' is empty") }
        return events
    }

    private init(_ bytes: [UInt8], number: Int, file: String) throws(DemoError) {
        line = number
        headers = []
        var document = JSONDocument()
        let tree: JSONValue
        do throws(JSONError) {
            try document.parse(bytes)
            tree = try document.value(of: document.root)
        } catch {
            throw DemoError("\(file):\(number): \(error)")
        }
        key = tree["key"]?.string.map { Array($0.utf8) }
        for member in tree["headers"]?.object?.members ?? [] {
            let text = member.value.string.map { Array($0.utf8) }
            headers.append(RecordHeader(name: member.name, value: text))
        }
        if let wanted = tree["expect"] {
            let place = "\(file):\(number)"
            expectations = try (wanted.array ?? [wanted]).map { one throws(DemoError) in
                try Self.expectation(one, place)
            }
            guard expectations != [] else { throw DemoError("\(place): 'expect' is an empty list") }
        }
        if let node = document.member(of: document.root, named: JSONName("value")) {
            value = tree["value"] == .null ? nil : Array(bytes[node.range])
        } else if let raw = tree["raw"]?.string {
            value = Array(raw.utf8)
        } else if let text = tree["base64"]?.string {
            guard let data = Data(base64Encoded: text) else {
                throw DemoError("\(file):\(number): 'base64' is not base64")
            }
            value = Array(data)
        } else {
            guard tree["expect"] == nil else {
                throw DemoError(
                    "\(file):\(number): 'expect' belongs next to 'value': "
                        + #"{"value": <the event>, "expect": …}"#
                )
            }
            // The line itself is the event.
            value = bytes
            key = (tree["device_token"] ?? tree["id"])?.string.map { Array($0.utf8) }
        }
    }

    private static func expectation(
        _ value: JSONValue,
        _ place: String
    ) throws(DemoError) -> Expectation {
        guard let outcome = value["outcome"] else {
            throw DemoError("\(place): 'expect' has no 'outcome'")
        }
        guard let name = outcome.string else { return .nothing }
        guard let reason = value["reason"] else { return .outcomeOfAnyReason(name) }
        return .outcome(name, reason: reason.string)
    }
}

/// Why the demo cannot continue, in one sentence.
struct DemoError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
