/// Apple's team and key identifiers.
package enum AppleIdentifier {
    package static let expectation = "10 characters of A-Z and 0-9, as Apple shows them"

    package static func isValid(_ text: String) -> Bool {
        text.utf8.count == 10 && text.utf8.allSatisfy { $0.isDigit || $0.isUppercase }
    }
}
