import Delivery
import Vocabulary

/// The last happenings of a run, to investigate a failure.
///
/// A run without one is faster; repeat the same seed with one to see what happened.
package struct Chronicle: Sendable {
    /// Formatted only when read, because few are.
    private enum Entry: Sendable {
        case happening(Happening)
        case decision(TurnDecision, MemberID)

        var text: [String] {
            switch self {
            case .happening(let happening): ["\(happening)"]
            case .decision(let decision, let member):
                decision.lines.map { "member \(member.number): \($0)" }
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

    mutating func note(_ decision: TurnDecision, of member: MemberID, at now: Instant) {
        note(.decision(decision, member), at: now)
    }

    private mutating func note(_ entry: Entry, at now: Instant) {
        if entries.count < Self.length {
            entries.append((now, entry))
        } else {
            entries[next] = (now, entry)
            next = (next + 1) % Self.length
        }
    }

    /// One line each, oldest first.
    package var text: [String] {
        (entries[next...] + entries[..<next]).flatMap { at, entry in
            entry.text.map { line in
                let words = line.split(separator: "(", omittingEmptySubsequences: false)
                let text = words.map(Self.withoutModules).joined(separator: "(")
                return "\(Double(at.nanoseconds) / 1e9) s: \(text)"
            }
        }
    }

    /// Shortens names such as `Vocabulary.DeliveryID` to their last component.
    private static func withoutModules(_ words: Substring) -> String {
        words.split(separator: " ", omittingEmptySubsequences: false).map { word in
            word.first?.isUppercase == true && word.contains(".")
                ? String(word.split(separator: ".").last ?? word) : String(word)
        }.joined(separator: " ")
    }
}

extension TurnDecision {
    /// The actions in order, one line each.
    fileprivate var lines: [String] {
        var lines = tokenRefreshes.map { "\($0)" } + cancels.map { "\($0)" }
        lines += sends.map { "send(\($0.delivery), on: \($0.connection))" }
        lines += connections.map { "\($0)" } + tokenWords.map { "\($0)" }
        lines += schemaFetches.map { "fetch(\($0))" } + transactions.map { "\($0)" }
        lines += publications.map { "publish(\($0.tag))" }
        lines += dropped.map { "drop(\($0.tag))" } + group.map { "\($0)" }
        if let stop { lines.append("stop(\(stop))") }
        return lines
    }
}
