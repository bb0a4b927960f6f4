import Vocabulary
import YAML

extension ValueType where Value == String {
    static func text(
        _ name: String,
        expectation: String,
        where isValid: @escaping @Sendable (String) -> Bool
    ) -> ValueType {
        ValueType(
            name: name,
            expectation: expectation,
            notation: .text,
            placeholder: "",
            parse: { isValid($0) ? $0 : nil },
            print: { $0 }
        )
    }

    /// A name that appears in logs and messages.
    static let nonEmpty = text("text", expectation: "text of up to 200 bytes") {
        !$0.isEmpty && $0.mayBeShown
    }

    /// A path; a key or password in its place is neither shown nor opened.
    static let filePath = text("path", expectation: "the path of a file", where: isPath)

    /// A host name, `*.` followed by a name for all its subdomains, or `*`.
    static let adminHost = text(
        "host name",
        expectation: "a host name such as push.example.com, *.example.com or *, without a port"
    ) { text in
        let name = text == "*" ? "a" : text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
        let labels = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                !label.isEmpty
                    && label.allSatisfy {
                        $0.isDigit || $0.isLowercase || $0.isUppercase || "-_".utf8.contains($0)
                    }
            }
    }

    static let folderPath = text("path", expectation: "the path of a folder", where: isPath)

    private static func isPath(_ text: String) -> Bool {
        !text.isEmpty && !text.utf8.contains(0) && !text.contains(where: \.isNewline)
            && !text.contains("-----BEGIN")
    }

    /// Apple's team and key identifiers.
    static let appleIdentifier = text(
        "identifier",
        expectation: AppleIdentifier.expectation,
        where: AppleIdentifier.isValid
    )
}

extension ValueType where Value == Bool {
    static let boolean = ValueType(
        name: "boolean",
        expectation: "true or false",
        notation: .bare,
        placeholder: false,
        parse: YAMLCoreSchema.boolean,
        print: { $0 ? "true" : "false" }
    )
}

extension ValueType where Value == Int {
    static func integer(in range: ClosedRange<Int>) -> ValueType {
        ValueType(
            name: "integer, \(range.lowerBound) to \(range.upperBound)",
            expectation: "a whole number from \(range.lowerBound) to \(range.upperBound)",
            notation: .bare,
            placeholder: range.lowerBound,
            parse: { YAMLCoreSchema.integer($0).flatMap { range.contains($0) ? $0 : nil } },
            print: { "\($0)" }
        )
    }

    /// A size in bytes: `1048576`, `64MiB`, `1MB`.
    static func byteSize(in range: ClosedRange<Int>) -> ValueType {
        let bounds = (ByteSize.print(range.lowerBound), ByteSize.print(range.upperBound))
        return ValueType(
            name: "size, \(bounds.0) to \(bounds.1)",
            expectation: "a size such as 64MiB, 1MB or 1048576, from \(bounds.0) to \(bounds.1)",
            notation: .text,
            placeholder: range.lowerBound,
            parse: { ByteSize.parse($0).flatMap { range.contains($0) ? $0 : nil } },
            print: ByteSize.print
        )
    }
}

extension ValueType where Value == Duration {
    static func duration(in range: ClosedRange<Duration>) -> ValueType {
        let bounds = (DurationText.print(range.lowerBound), DurationText.print(range.upperBound))
        return ValueType(
            name: "duration, \(bounds.0) to \(bounds.1)",
            expectation:
                "a duration such as 200ms, 30s, 15m or 24h, from \(bounds.0) to \(bounds.1)",
            notation: .text,
            placeholder: range.lowerBound,
            parse: { DurationText.parse($0).flatMap { range.contains($0) ? $0 : nil } },
            print: DurationText.print
        )
    }
}

extension ValueType where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
    /// One of an enumeration's values.
    static func word(placeholder: Value) -> ValueType {
        let words = Value.allCases.map(\.rawValue)
        return ValueType(
            name: words.map { "`\($0)`" }.joined(separator: ", "),
            expectation: "one of \(words.joined(separator: ", "))",
            notation: .text,
            placeholder: placeholder,
            parse: Value.init(rawValue:),
            print: \.rawValue
        )
    }
}

extension UInt8 {
    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
    var isUppercase: Bool { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) }
    var isLowercase: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) }
}
