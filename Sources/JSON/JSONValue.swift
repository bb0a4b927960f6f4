/// A JSON value as a tree, for schemas and other texts that are read once.
///
/// Equality is JSON Schema's (Core, 4.2.2): `1` equals `1.0`, and members have no order.
package indirect enum JSONValue: Hashable, Sendable {
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
    /// An object that has a name twice is refused.
    package static func parse(
        _ text: [UInt8],
        limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        var document = JSONDocument(limits: limits)
        try document.parse(text)
        return try document.value(of: document.root)
    }

    package subscript(name: String) -> JSONValue? {
        if case .object(let object) = self { object[name] } else { nil }
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// A number, exact.
    package var number: JSONNumber? {
        switch self {
        case .integer(let value): JSONNumber(text: Array("\(value)".utf8)[...])
        case .number(let value): value
        case .null, .bool, .string, .array, .object: nil
        }
    }

    package var array: [JSONValue]? {
        if case .array(let items) = self { items } else { nil }
    }

    package var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
}

/// The members of a JSON object, in source order, without repeated names.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue
    }

    package private(set) var members: [Member] = []
    private var positions: [String: Int] = [:]

    package init() {}

    package subscript(name: String) -> JSONValue? {
        positions[name].map { members[$0].value }
    }

    /// - Returns: false, and nothing is changed, if the name is there already.
    package mutating func append(_ name: String, _ value: JSONValue) -> Bool {
        guard positions[name] == nil else { return false }
        positions[name] = members.count
        members.append(Member(name: name, value: value))
        return true
    }

    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.count == right.members.count
            && left.members.allSatisfy { right[$0.name] == $0.value }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(members.count)
        for name in members.lazy.map(\.name).sorted() { hasher.combine(name) }
    }
}

extension JSONDocument {
    /// A value and all that is inside it, as a tree.
    package func value(of node: JSONNode) throws(JSONError) -> JSONValue {
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
