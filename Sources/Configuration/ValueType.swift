import YAML

/// How to convert the text of a scalar to a value.
struct ValueType<Value: Sendable>: Sendable {
    /// How a scalar of this type is written in YAML.
    enum Notation: Sendable {
        /// Quoted or not, but not a bare `true` or `false`.
        case text
        /// Never quoted: a quoted number is a string.
        case bare
    }

    /// The type's name in the reference documentation, such as "duration".
    var name: String
    /// Completes "expected ...".
    var expectation: String
    var notation: Notation
    /// Replaces a rejected value; a configuration that contains it is never returned.
    var placeholder: Value
    var parse: @Sendable (String) -> Value?
    var print: @Sendable (Value) -> String
}

extension ValueType {
    /// Converts the scalar's text, or explains what is wrong with it.
    func read(_ scalar: Scalar) -> Reading {
        if scalar.style == .quoted, notation == .bare { return .refused("is a string") }
        if scalar.style == .plain, notation == .text, scalar.isBoolean {
            return .refused("is a boolean")
        }
        guard let value = parse(scalar.text) else { return .refused("is \(shown(scalar.text))") }
        return .value(value)
    }

    enum Reading {
        case value(Value)
        case refused(String)
    }

    private func shown(_ text: String) -> String {
        text.isEmpty ? "empty" : text.quoted
    }
}

/// A scalar from the file or the environment.
struct Scalar: Hashable, Sendable {
    enum Style: Hashable, Sendable {
        case plain
        /// Includes block scalars and those tagged `!!str`.
        case quoted
        /// From the environment, which has no types: `true` may be a text.
        case variable
    }

    var text: String
    var style: Style

    /// Whether it is YAML's null or an empty variable.
    var isNull: Bool { style != .quoted && YAMLCoreSchema.isNull(text) }

    /// Whether it is a boolean in YAML 1.2's core schema, where `off` and `no` are text.
    var isBoolean: Bool { style != .quoted && YAMLCoreSchema.boolean(text) != nil }
}

extension Scalar {
    init(_ scalar: YAMLScalar) {
        self.init(text: scalar.text, style: scalar.isText ? .quoted : .plain)
    }
}
