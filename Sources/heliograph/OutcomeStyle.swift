import Foundation
import Service
import Tools
import Vocabulary

/// Whether lines have colours.
enum ColorChoice: String, CaseIterable {
    case auto
    case always
    case never

    /// `auto`: on a terminal that is not dumb, unless NO_COLOR is set to anything
    /// (https://no-color.org).
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

/// Lines of outcomes for people.
struct OutcomeStyle {
    let isColored: Bool

    /// The columns with two spaces between; the outcome and its reason line up.
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

    /// Green for what arrived, yellow for what needs no action, red for what does.
    ///
    /// See ECMA-48, 8.3.117. The word next to it says the same without colours.
    private static func color(of kind: OutcomeKind) -> String {
        switch kind {
        case .accepted: "32"
        case .unregistered, .expired, .suppressed, .duplicate: "33"
        case .rejected, .invalid, .undeliverable: "1;31"
        }
    }
}
