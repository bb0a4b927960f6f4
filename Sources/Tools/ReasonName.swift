import Spelling
import Vocabulary

/// The reasons that this version knows, for a user who may have misspelled one.
package enum ReasonName {
    private static let all =
        APNsReason.allCases.map(\.rawValue) + LocalReason.allCases.map(\.rawValue)

    /// "; did you mean 'BadDeviceToken'?", or else where to find the reasons.
    package static func question(about text: String) -> String {
        NearMiss.question(text, among: all, otherwise: "; see docs/reasons.md")
    }

    /// Whether a filter admits a reason, ignoring case; a filter without reasons admits all.
    static func admits(_ reason: String?, _ wanted: Set<String>) -> Bool {
        guard !wanted.isEmpty else { return true }
        guard let reason = reason?.lowercased() else { return false }
        return wanted.contains { folded($0) == reason }
    }

    /// A reason as outcomes have it, in lower case, for comparisons.
    private static func folded(_ text: String) -> String {
        Reason(recorded: text).text.lowercased()
    }

    /// What to tell about the reasons of a filter that this version does not know.
    ///
    /// They are not refused: APNs may give new reasons at any time.
    static func notes(about reasons: Set<String>) -> [String] {
        let known = Set(all.map { $0.lowercased() })
        return reasons.sorted().filter { !known.contains(folded($0)) }.map {
            "--reason: '\($0)' is not a known reason\(question(about: $0))"
        }
    }
}
