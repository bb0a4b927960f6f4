import Vocabulary

/// The last happenings of a run, for whoever looks into a failure.
///
/// A run without one is faster; the same seed with one tells the story.
package struct Chronicle: Sendable {
    private static let length = 100

    private var lines: [(at: Instant, text: String)] = []
    private var next = 0

    package init() {}

    mutating func note(_ happening: Happening, at now: Instant) {
        note("\(happening)", at: now)
    }

    mutating func note(_ text: String, at now: Instant) {
        if lines.count < Self.length {
            lines.append((now, text))
        } else {
            lines[next] = (now, text)
            next = (next + 1) % Self.length
        }
    }

    /// Oldest first, one line each.
    package var text: [String] {
        (lines[next...] + lines[..<next]).map { line in
            let words = line.text.split(separator: "(", omittingEmptySubsequences: false)
            let text = words.map(Self.withoutModules).joined(separator: "(")
            return "\(Double(line.at.nanoseconds) / 1e9) s: \(text)"
        }
    }

    /// Of `Vocabulary.DeliveryID` only the last part tells something.
    private static func withoutModules(_ words: Substring) -> String {
        words.split(separator: " ", omittingEmptySubsequences: false).map { word in
            word.first?.isUppercase == true && word.contains(".")
                ? String(word.split(separator: ".").last ?? word) : String(word)
        }.joined(separator: " ")
    }
}
