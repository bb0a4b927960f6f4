import Delivery
import Vocabulary

/// The last happenings of a run, for whoever looks into a failure.
///
/// A run without one is faster; the same seed with one tells the story.
package struct Chronicle: Sendable {
    /// Made into text only when somebody reads it, for few are ever read.
    private enum Entry: Sendable {
        case happening(Happening)
        case action(Action, MemberID)

        var text: String {
            switch self {
            case .happening(let happening): "\(happening)"
            case .action(let action, let member): "member \(member.number): \(action)"
            }
        }
    }

    private static let length = 100

    private var entries: [(at: Instant, entry: Entry)] = []
    private var next = 0

    package init() {}

    mutating func note(_ happening: Happening, at now: Instant) {
        note(.happening(happening), at: now)
    }

    mutating func note(_ action: Action, of member: MemberID, at now: Instant) {
        note(.action(action, member), at: now)
    }

    private mutating func note(_ entry: Entry, at now: Instant) {
        if entries.count < Self.length {
            entries.append((now, entry))
        } else {
            entries[next] = (now, entry)
            next = (next + 1) % Self.length
        }
    }

    /// Oldest first, one line each.
    package var text: [String] {
        (entries[next...] + entries[..<next]).map { at, entry in
            let words = entry.text.split(separator: "(", omittingEmptySubsequences: false)
            let text = words.map(Self.withoutModules).joined(separator: "(")
            return "\(Double(at.nanoseconds) / 1e9) s: \(text)"
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
