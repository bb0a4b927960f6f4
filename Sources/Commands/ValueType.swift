import Spelling

/// The type of a value on the command line: its placeholder, how it is read, and its completion.
package struct ValueType<Value: Sendable>: Sendable {
    /// The placeholder of the value in usage lines, such as `<file>`.
    let placeholder: String
    let hint: ValueHint
    /// Whether a text that is not valid must not be shown.
    private let isSecret: Bool
    let write: @Sendable (Value) -> String
    private let read: @Sendable (String) throws(ValueMismatch) -> Value

    /// - Parameters:
    ///   - name: A word for the value, such as `file`, or its form, such as `<name>=<value>`.
    ///   - hint: What a shell offers as completion.
    ///   - isSecret: Whether errors must not show the text.
    ///   - write: Makes the text of a default value for the help.
    ///   - read: Parses a text; throws the reason if it is not valid.
    package init(
        _ name: String,
        hint: ValueHint = .text,
        isSecret: Bool = false,
        write: @escaping @Sendable (Value) -> String = { "\($0)" },
        read: @escaping @Sendable (String) throws(ValueMismatch) -> Value
    ) {
        placeholder = name.contains("<") ? name : "<\(name)>"
        self.hint = hint
        self.isSecret = isSecret
        self.write = write
        self.read = read
    }

    /// Makes a type from a `read` that returns nil for invalid text; errors name what was
    /// `expected`.
    package init(
        _ name: String,
        expected: String,
        isSecret: Bool = false,
        read: @escaping @Sendable (String) -> Value?
    ) {
        self.init(name, isSecret: isSecret) { text throws(ValueMismatch) in
            guard let value = read(text) else { throw ValueMismatch("expected \(expected)") }
            return value
        }
    }

    func value(of text: String) throws(ValueMismatch) -> Value {
        do {
            return try read(text)
        } catch {
            let shown = isSecret ? "" : " '\(text)'"
            throw ValueMismatch("invalid value\(shown); \(error.reason)")
        }
    }
}

/// What a shell offers to complete a value.
package enum ValueHint: Hashable, Sendable {
    /// Nothing: only the user knows the value.
    case text
    case file
    case folder
    case words([String])
}

/// Why a text is not a valid value.
package struct ValueMismatch: Error, Hashable, Sendable {
    let reason: String

    /// - Parameter reason: The end of a sentence, such as `expected NAME=VALUE`.
    package init(_ reason: String) {
        self.reason = reason
    }
}

extension ValueType where Value == String {
    package static var file: Self { Self("file", hint: .file) { $0 } }
    package static var folder: Self { Self("folder", hint: .folder) { $0 } }

    package static func text(_ name: String) -> Self { Self(name) { $0 } }
}

extension ValueType where Value: FixedWidthInteger {
    /// A decimal integer in a range.
    package static func integer(
        _ range: ClosedRange<Value> = Value.min...Value.max,
        _ name: String = "number"
    ) -> Self {
        Self(name, expected: expectation(range)) { text in
            Value(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Describes the range; limits at the ends of 64 bits are left out, as no user expects them.
    private static func expectation(_ range: ClosedRange<Value>) -> String {
        let (lowest, highest) = (range.lowerBound, range.upperBound)
        if highest < Value.max || Value.bitWidth < 64 {
            return "a number from \(lowest) to \(highest)"
        }
        return lowest < 0 ? "a whole number" : "a number of \(lowest) or more"
    }
}

extension ValueType
where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of the raw values of an enum.
    package static func choice(_ name: String) -> Self {
        let words = Value.allCases.map(\.rawValue)
        return Self(
            name,
            hint: .words(words),
            write: { $0.rawValue },
            read: { text throws(ValueMismatch) in
                if let value = Value(rawValue: text) { return value }
                let expected = words.dropLast().joined(separator: ", ") + " or \(words.last ?? "")"
                throw ValueMismatch(
                    "expected \(expected)" + NearMiss.question(text, among: words)
                )
            }
        )
    }
}
