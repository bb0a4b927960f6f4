/// A JSON value as a tree, for schemas and other texts that are read only once.
///
/// Equality is JSON Schema's (Core, 4.2.2): `1` equals `1.0`, the order of members does not matter,
/// and texts are compared by bytes, not by Unicode equivalence.
public indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// A number with a fraction, or one beyond `Int64`.
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// Parses a text.
    ///
    /// Rejects objects with repeated names.
    public static func parse(
        _ text: [UInt8],
        limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        var document = JSONDocument(limits: limits)
        try document.parse(text)
        return try document.value(of: document.root)
    }

    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let value), .bool(let other)): value == other
        case (.integer(let value), .integer(let other)): value == other
        case (.number(let value), .number(let other)): value == other
        case (.string(let text), .string(let other)): text.hasSameBytes(as: other)
        case (.array(let items), .array(let others)): items == others
        case (.object(let object), .object(let other)): object == other
        case (.null, _), (.bool, _), (.integer, _), (.number, _), (.string, _), (.array, _),
            (.object, _):
            false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .integer(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let text): hasher.combine(ExactText(text))
        case .array(let items): hasher.combine(items)
        case .object(let object): hasher.combine(object)
        }
    }

    public subscript(name: String) -> JSONValue? {
        if case .object(let object) = self { object[name] } else { nil }
    }

    public var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    public var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The exact number; nil for any other value.
    public var number: JSONNumber? {
        switch self {
        case .integer(let value): JSONNumber(text: Array("\(value)".utf8)[...])
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    public var array: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}

/// The members of a JSON object, in source order, without repeated names.
///
/// Names are compared by their bytes.
public struct JSONObject: Hashable, Sendable {
    public struct Member: Sendable {
        public let name: String
        public let value: JSONValue
    }

    public private(set) var members: [Member] = []
    private var positions: [ExactText: Int] = [:]

    public init() {}

    public subscript(name: String) -> JSONValue? {
        positions[ExactText(name)].map { members[$0].value }
    }

    /// - Returns: false, without changing anything, if the name exists already.
    public mutating func append(_ name: String, _ value: JSONValue) -> Bool {
        let key = ExactText(name)
        guard positions[key] == nil else { return false }
        positions[key] = members.count
        members.append(Member(name: name, value: value))
        return true
    }

    public static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count
            && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    public func hash(into hasher: inout Hasher) {
        // Hashes a set, because the order of members does not matter.
        hasher.combine(Set(positions.keys))
    }
}

extension JSONDocument {
    /// A value with everything inside it, as a tree.
    public func value(of node: JSONNode) throws(JSONError) -> JSONValue {
        switch node.kind {
        case .null: return .null
        case .false: return .bool(false)
        case .true: return .bool(true)
        case .integer, .number:
            let number = JSONNumber(text: source[node.range])
            return number.integer.map(JSONValue.integer) ?? .number(number)
        case .string, .escapedString: return .string(string(node) ?? "")
        case .array:
            var items: [JSONValue] = []
            var cursor = children(of: node)
            while let item = nextItem(&cursor) { items.append(try value(of: item)) }
            return .array(items)
        case .object:
            var object = JSONObject()
            var cursor = children(of: node)
            while let (name, member) = nextMember(&cursor) {
                guard object.append(string(name) ?? "", try value(of: member)) else {
                    throw JSONError(kind: .duplicateName, offset: name.range.lowerBound)
                }
            }
            return .object(object)
        }
    }
}
