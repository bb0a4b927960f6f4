extension JSONDocument {
    /// The bytes of a string with its escapes resolved; empty for what is no string.
    ///
    /// A string without escapes is a slice of the source, and costs no copy.
    public func content(of node: JSONNode) -> ArraySlice<UInt8> {
        guard node.isString else { return [] }
        guard node.kind == .escapedString else { return source[node.contentRange] }
        return StringContent.unescaped(source[node.contentRange])?[...] ?? []
    }

    /// A string's content; nil for what is no string.
    public func string(_ node: JSONNode) -> String? {
        guard node.isString else { return nil }
        return withContent(of: node) { content in
            unsafe content.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        }
    }

    /// The same; it is `known` where that has the same content, and nothing is allocated then.
    public func string(_ node: JSONNode, reusing known: String) -> String? {
        guard node.kind == .string,
            StringContent.isEqual(source.span.extracting(node.contentRange), known.utf8.span)
        else { return string(node) }
        return known
    }

    /// Whether an expression matches anywhere in a string; false for what is no string.
    public func matches(_ node: JSONNode, _ pattern: TextPattern) -> Bool {
        node.isString && withContent(of: node) { pattern.matches($0) }
    }

    /// The same as `content`, for a moment, and without counting a reference.
    @inline(__always)
    public func withContent<R>(of node: JSONNode, _ body: (Span<UInt8>) -> R) -> R {
        if node.kind == .escapedString { return body(content(of: node).span) }
        return body(source.span.extracting(node.contentRange))
    }

    /// A string's length in Unicode scalars, as JSON Schema counts it (Validation, 6.3.1).
    public func scalarCount(of node: JSONNode) -> Int {
        guard node.isString else { return 0 }
        return withContent(of: node) { content in
            var count = 0
            for index in content.indices where content[index] & 0xC0 != 0x80 { count += 1 }
            return count
        }
    }

    /// A number's exact value; nil if it is no number, has a fraction, or does not fit.
    ///
    /// `1.0` and `1e3` are integers (JSON Schema Core, 4.2.3).
    public func integer(_ node: JSONNode) -> Int64? {
        switch node.kind {
        case .integer:
            return Self.parseInteger(source.span.extracting(node.range))
        case .number:
            return DecimalText(source, node.range).integer(in: source)
        case .null, .false, .true, .string, .escapedString, .array, .object:
            return nil
        }
    }

    /// The nearest `Double` to a number, infinite beyond its range; nil for what is no number.
    public func double(_ node: JSONNode) -> Double? {
        guard node.isNumber else { return nil }
        return StringContent.double(source.span.extracting(node.range))
    }

    private static func parseInteger(_ digits: Span<UInt8>) -> Int64? {
        guard digits.count <= 20 else { return nil }
        let isNegative = digits[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        if digits.count <= 18 {
            // So few digits always fit.
            for index in (isNegative ? 1 : 0)..<digits.count {
                value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0"))
            }
            return isNegative ? -value : value
        }
        for index in (isNegative ? 1 : 0)..<digits.count {
            let digit = digits[index]
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, carry) = shifted.subtractingReportingOverflow(
                Int64(digit &- UInt8(ascii: "0"))
            )
            guard !overflow, !carry else { return nil }
            value = sum
        }
        // Counted downwards, because Int64.min has no positive twin.
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// The JSON Pointer (RFC 6901) of a value or of a member's value.
    public func pointer(to target: JSONNode) -> String {
        var pointer = ""
        var container = root
        while container.index < target.index {
            guard let (step, child) = child(of: container, around: target.index) else { break }
            pointer += "/" + step
            container = child
        }
        return pointer
    }

    private func child(
        of container: JSONNode,
        around index: Int
    ) -> (step: String, child: JSONNode)? {
        var cursor = children(of: container)
        if container.kind == .object {
            while let (name, value) = nextMember(&cursor) {
                guard index < value.next else { continue }
                return (JSONPointer.escaped(string(name) ?? ""), value)
            }
            return nil
        }
        var position = 0
        while let item = nextItem(&cursor) {
            if index < item.next { return ("\(position)", item) }
            position += 1
        }
        return nil
    }
}

/// The escapes of RFC 6901, 3.
public enum JSONPointer {
    /// A name as a reference token: `~` is `~0` and `/` is `~1`.
    public static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") })
        else { return name }
        // Not by characters: with a mark that combines behind it, "/" is part of another one.
        return name.unicodeScalars.reduce(into: "") { token, scalar in
            switch scalar {
            case "~": token += "~0"
            case "/": token += "~1"
            default: token.unicodeScalars.append(scalar)
            }
        }
    }

    /// The name that a reference token stands for.
    public static func unescaped(_ token: some StringProtocol) -> String {
        guard token.utf8.contains(UInt8(ascii: "~")) else { return String(token) }
        var name = ""
        var rest = Array(token.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            switch (scalar, rest.first) {
            case ("~", "0"): name.unicodeScalars.append("~")
            case ("~", "1"): name.unicodeScalars.append("/")
            default:
                name.unicodeScalars.append(scalar)
                continue
            }
            rest = rest.dropFirst()
        }
        return name
    }
}
