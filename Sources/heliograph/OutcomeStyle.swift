import Foundation
import Service
import Tools
import Vocabulary

/// When lines are colored.
enum ColorChoice: String, CaseIterable {
    case auto
    case always
    case never

    /// Whether to use colors; `auto`: on a terminal, unless TERM is `dumb` or NO_COLOR is set.
    ///
    /// See https://no-color.org.
    var isOn: Bool {
        switch self {
        case .always: return true
        case .never: return false
        case .auto:
            let environment = ProcessInfo.processInfo.environment
            return isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb"
                && environment["NO_COLOR", default: ""].isEmpty
        }
    }
}

/// Formats outcomes as lines for people.
struct OutcomeStyle {
    let isColored: Bool

    /// The columns separated by two spaces, with outcome and reason padded to line up.
    func line(_ outcome: TailedOutcome) -> [Console.Piece] {
        var columns = outcome.columns
        for (index, width) in [(1, 13), (2, 22)] where columns.indices.contains(index) {
            let text = columns[index]
            columns[index] = text + String(repeating: " ", count: max(0, width - text.count))
        }
        var pieces = columns.enumerated().map { index, text in
            Console.Piece(text: index == 0 ? text : "  \(text)")
        }
        if isColored {
            pieces[0].rendition = "2"
            pieces[1].rendition = Self.color(of: outcome.kind)
        }
        return pieces
    }

    /// Green for an accepted notification, yellow if no action is needed, red if it is needed.
    ///
    /// See ECMA-48, section 8.3.117. The text says the same without colors.
    private static func color(of kind: OutcomeKind) -> String {
        switch kind {
        case .accepted: "32"
        case .unregistered, .expired, .suppressed, .duplicate, .cancelled: "33"
        case .rejected, .invalid, .undeliverable: "1;31"
        }
    }
}
