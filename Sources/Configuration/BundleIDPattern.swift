/// The bundle IDs that a credential covers: a single one, or all with a common prefix.
package enum BundleIDPattern: Hashable, Sendable, CustomStringConvertible {
    case exact(String)
    /// For `com.example.*`, the text before the star, which ends with a dot; empty for `*`.
    case prefix(String)

    package init?(_ text: String) {
        if text == "*" {
            self = .prefix("")
        } else if text.hasSuffix(".*"), Self.isBundleID(text.dropLast(2)) {
            self = .prefix(String(text.dropLast()))
        } else if Self.isBundleID(text[...]) {
            self = .exact(text)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .exact(let bundleID): bundleID
        case .prefix(let text): "\(text)*"
        }
    }

    /// Apple allows letters, digits, hyphens and dots (`CFBundleIdentifier`).
    private static func isBundleID(_ text: Substring) -> Bool {
        let segments = text.split(separator: ".", omittingEmptySubsequences: false)
        return segments.allSatisfy { segment in
            !segment.isEmpty
                && segment.utf8.allSatisfy {
                    $0.isDigit || $0.isUppercase || $0.isLowercase || $0 == UInt8(ascii: "-")
                }
        }
    }
}

extension ValueType where Value == BundleIDPattern {
    static let bundleID = ValueType(
        name: "bundle ID",
        expectation: "a bundle ID such as com.example.MyApp, or a pattern such as com.example.*",
        notation: .text,
        placeholder: .exact(""),
        parse: BundleIDPattern.init,
        print: \.description
    )
}
