import YAML

/// How the text of a scalar becomes a value.
struct ValueType<Value: Sendable>: Sendable {
    /// How a scalar of this type is written in YAML.
    enum Notation: Sendable {
        /// Quoted or not, but not a bare `true` or `false`.
        case text
        /// Never quoted: a quoted number is a string.
        case bare
    }

    /// The word for it in the reference, as "duration".
    var name: String
    /// Completes "expected ...".
    var expectation: String
    var notation: Notation
    /// Stands for a value that was refused; the configuration that holds it is never returned.
    var placeholder: Value
    var parse: @Sendable (String) -> Value?
    var print: @Sendable (Value) -> String
}

extension ValueType {
    /// What is wrong with the text, or its value.
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

/// A scalar of the file or of the environment.
struct Scalar: Hashable, Sendable {
    enum Style: Hashable, Sendable {
        case plain
        /// Also a block, and what is tagged `!!str`.
        case quoted
        /// From the environment, which knows no types: `true` may be a text.
        case variable
    }

    var text: String
    var style: Style

    /// YAML's null, or an empty variable.
    var isNull: Bool { style != .quoted && YAMLCoreSchema.isNull(text) }

    /// By YAML 1.2's core schema: `off` and `no` are text.
    var isBoolean: Bool { style != .quoted && YAMLCoreSchema.boolean(text) != nil }
}

extension Scalar {
    init(_ scalar: YAMLScalar) {
        self.init(text: scalar.text, style: scalar.isText ? .quoted : .plain)
    }
}
