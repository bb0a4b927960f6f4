import JSON
import Vocabulary

extension Schema {
    /// What a failed keyword says, worded only when somebody reads it.
    struct Complaint {
        let rule: Rule

        var text: String {
            switch rule {
            case .never: "is not allowed here"
            case .type(let types): "must be \(types.text)"
            case .enumeration(let literals):
                "must be \(literals.map(\.text).joined(separator: " or "))"
            case .minLength(let limit): "must have at least \(limit) characters"
            case .maxLength(let limit): "must have at most \(limit) characters"
            case .maxBytes(let limit): "must have at most \(limit) bytes"
            case .pattern(let pattern): "must match \(pattern.text)"
            case .format(let format): "must be a valid \(format.rawValue)"
            case .minimum(let limit): "must be at least \(limit.plainText)"
            case .maximum(let limit): "must be at most \(limit.plainText)"
            case .exclusiveMinimum(let limit): "must be above \(limit.plainText)"
            case .exclusiveMaximum(let limit): "must be below \(limit.plainText)"
            case .multipleOf(let divisor): "must be a multiple of \(divisor.plainText)"
            default: "breaks the schema"
            }
        }
    }

    /// Checks a keyword that has no subschema; nil when it holds.
    func complaint(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument
    ) -> Complaint? {
        let holds: Bool
        switch rule {
        case .never: holds = false
        case .type(let types): holds = hasType(types, node, document)
        case .enumeration(let literals):
            holds = literals.indices.contains { isEqual(literals[$0], node, document) }
        case .minLength(let limit):
            // Without escapes a character has at most four bytes.
            holds =
                !node.isString || (node.kind == .string && (node.byteCount - 2) / 4 >= limit)
                || document.scalarCount(of: node) >= limit
        case .maxLength(let limit):
            // A character has at least a byte, so a short string need not be counted.
            holds =
                !node.isString || node.byteCount - 2 <= limit
                || document.scalarCount(of: node) <= limit
        case .maxBytes(let limit):
            let count = node.isString ? document.content(of: node).count : node.byteCount
            holds = count <= limit
        case .pattern(let pattern):
            holds = !node.isString || pattern.matches(document.content(of: node))
        case .format(let format):
            holds = !node.isString || Self.matches(format, document.content(of: node))
        case .minimum(let limit): holds = document.double(node).map { $0 >= limit } ?? true
        case .maximum(let limit): holds = document.double(node).map { $0 <= limit } ?? true
        case .exclusiveMinimum(let limit):
            holds = document.double(node).map { $0 > limit } ?? true
        case .exclusiveMaximum(let limit):
            holds = document.double(node).map { $0 < limit } ?? true
        case .multipleOf(let divisor):
            holds = document.double(node).map { Self.isMultiple($0, of: divisor) } ?? true
        default: holds = true
        }
        return holds ? nil : Complaint(rule: rule)
    }

    private func hasType(
        _ types: TypeSet,
        _ node: JSONNode,
        _ document: borrowing JSONDocument
    ) -> Bool {
        switch node.kind {
        case .null: return types.contains(.null)
        case .true, .false: return types.contains(.boolean)
        case .string, .escapedString: return types.contains(.string)
        case .array: return types.contains(.array)
        case .object: return types.contains(.object)
        case .integer: return !types.isDisjoint(with: [.integer, .number])
        case .number:
            if types.contains(.number) { return true }
            guard types.contains(.integer), let value = document.double(node) else { return false }
            return value == value.rounded()
        }
    }

    private func isEqual(
        _ literal: Literal,
        _ node: JSONNode,
        _ document: borrowing JSONDocument
    ) -> Bool {
        switch literal {
        case .string(let name): document.isEqual(node, to: name)
        case .integer(let value): document.integer(node) == value
        case .other(let value): (try? document.value(of: node)) == value
        }
    }

    private static func isMultiple(_ value: Double, of divisor: Double) -> Bool {
        guard value.isFinite else { return true }
        let quotient = value / divisor
        return quotient == quotient.rounded()
    }

    private static func matches(_ format: Format, _ text: ArraySlice<UInt8>) -> Bool {
        switch format {
        case .uuid: APNsID(utf8: text) != nil
        case .dateTime: Timestamp(rfc3339: text) != nil
        }
    }
}

extension Literal {
    fileprivate var text: String {
        switch self {
        case .string(let name): return "'\(name.text)'"
        case .integer(let value): return "\(value)"
        case .other(let value):
            var writer = JSONWriter()
            writer.value(value)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
    }
}

extension Double {
    /// Without the `.0` of whole numbers.
    fileprivate var plainText: String {
        self == rounded() && abs(self) < 1e15 ? "\(Int64(self))" : "\(self)"
    }
}
