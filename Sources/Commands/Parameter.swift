/// An option or an operand: its declaration, and how its value is read.
///
/// The same value is the declaration in a `Command` and the key with which `Arguments` returns a
/// `Value`.
package struct Parameter<Value: Sendable>: DeclaredParameter {
    package private(set) var declaration: Declaration
    private let read: @Sendable ([String]) throws(ValueMismatch) -> Value

    fileprivate init(
        _ declaration: Declaration,
        read: @escaping @Sendable ([String]) throws(ValueMismatch) -> Value
    ) {
        self.declaration = declaration
        self.read = read
    }

    /// The same option with a short name: `-n`.
    package func short(_ letter: Character) -> Self {
        var copy = self
        copy.declaration.short = letter
        return copy
    }

    /// The same option, read from an environment variable when it is not given.
    package func variable(_ name: String) -> Self {
        var copy = self
        copy.declaration.variable = name
        return copy
    }

    func value(of texts: [String], from source: String) throws(UsageError) -> Value {
        do throws(ValueMismatch) {
            return try read(texts)
        } catch {
            throw UsageError("\(source): \(error.reason)")
        }
    }

    package func content(
        of texts: [String],
        from source: String
    ) throws(UsageError) -> any Sendable {
        Content(value: try value(of: texts, from: source))
    }

    /// Keeps the type of an optional value through `any Sendable`.
    struct Content: Sendable {
        let value: Value
    }
}

/// A parameter of any type, for use in the command table.
package protocol DeclaredParameter: Sendable {
    var declaration: Declaration { get }

    /// Reads the given texts: none, one, or several if repeatable; errors name their `source`.
    func content(of texts: [String], from source: String) throws(UsageError) -> any Sendable
}

/// The kinds of options; the kind decides the type of the value in `Arguments`.
package enum Option {
    /// An option without a value; giving it more than once makes no difference.
    package static func flag(_ name: String, help: String) -> Parameter<Bool> {
        Parameter(Declaration(name: name, help: help)) { !$0.isEmpty }
    }

    package static func required<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        help: String
    ) -> Parameter<Value> {
        Parameter(Declaration(name, type, help, .required)) { texts throws(ValueMismatch) in
            try type.value(of: texts[0])
        }
    }

    package static func optional<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        help: String
    ) -> Parameter<Value?> {
        Parameter(Declaration(name, type, help, .optional)) { texts throws(ValueMismatch) in
            guard let text = texts.first else { return nil }
            return try type.value(of: text)
        }
    }

    package static func defaulted<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        to fallback: Value,
        help: String
    ) -> Parameter<Value> {
        var declaration = Declaration(name, type, help, .optional)
        declaration.fallback = type.write(fallback)
        return Parameter(declaration) { texts throws(ValueMismatch) in
            guard let text = texts.first else { return fallback }
            return try type.value(of: text)
        }
    }

    package static func repeatable<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        help: String
    ) -> Parameter<[Value]> {
        Parameter(Declaration(name, type, help, .repeatable)) { texts throws(ValueMismatch) in
            var values: [Value] = []
            for text in texts { values.append(try type.value(of: text)) }
            return values
        }
    }
}

/// Positional arguments, in the order of their declarations.
package enum Operand {
    package static func required<Value>(
        _ type: ValueType<Value>,
        help: String
    ) -> Parameter<Value> {
        var declaration = Declaration(type.placeholder, type, help, .required)
        declaration.valueName = nil
        declaration.isOperand = true
        return Parameter(declaration) { texts throws(ValueMismatch) in
            try type.value(of: texts[0])
        }
    }
}
