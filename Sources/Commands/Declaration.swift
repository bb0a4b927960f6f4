/// A parameter as the parser, the help, the completions and the manual need it.
package struct Declaration: Sendable {
    enum Multiplicity {
        case required
        case optional
        case repeatable
    }

    /// An option's long name without the dashes, or an operand as shown in usage lines.
    let name: String
    var short: Character?
    var isOperand = false
    /// The placeholder of the value in usage lines; nil for flags and operands.
    var valueName: String?
    var hint = ValueHint.text
    let help: String
    var multiplicity = Multiplicity.optional
    /// The default value, as text.
    var fallback: String?
    /// The environment variable that is read when the option is not given.
    var variable: String?

    var isFlag: Bool { !isOperand && valueName == nil }
    var isRequired: Bool { multiplicity == .required }
    var isRepeatable: Bool { multiplicity == .repeatable }
    /// As shown in errors: `--name`, or `<file>`.
    var label: String { isOperand ? name : "--\(name)" }
    /// As shown in usage lines: `--name <value>`, or `<file>`.
    var usage: String { label + (valueName.map { " \($0)" } ?? "") }
    /// As shown in the help: `-n, --name <value>`.
    var helpLabel: String { (short.map { "-\($0), " } ?? "") + usage }

    /// The help text, followed by notes on values, default and environment variable.
    var fullHelp: String {
        var notes: [String] = []
        if case .words(let words) = hint {
            notes.append("values: \(words.joined(separator: ", "))")
        }
        if isRepeatable { notes.append("repeatable") }
        if let fallback { notes.append("default: \(fallback)") }
        if let variable { notes.append("env: \(variable)") }
        return help + notes.map { " [\($0)]" }.joined()
    }
}

extension Declaration {
    init<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        _ help: String,
        _ multiplicity: Multiplicity
    ) {
        self.init(
            name: name,
            valueName: type.placeholder,
            hint: type.hint,
            help: help,
            multiplicity: multiplicity
        )
    }
}
