/// The arguments of a command line, parsed and complete.
package struct Arguments: Sendable {
    private let command: String
    private let line: SplitLine
    private var contents: [String: any Sendable] = [:]

    /// Reads every parameter of a command, and reports all missing ones together.
    init(
        _ line: SplitLine,
        of command: Command,
        environment: [String: String]
    ) throws(UsageError) {
        self.command = command.name
        self.line = line
        var operands = line.operands[...]
        var missing: [String] = []
        for parameter in command.parameters {
            let declaration = parameter.declaration
            var source = declaration.label
            var texts = line.options[declaration.name] ?? []
            if declaration.isOperand { texts = operands.popFirst().map { [$0] } ?? [] }
            if texts.isEmpty, let variable = declaration.variable,
                let text = environment[variable], !text.isEmpty
            {
                (source, texts) = (variable, [text])
            }
            if texts.isEmpty, declaration.isRequired {
                let variable = declaration.variable.map { " or set \($0)" } ?? ""
                missing.append("\(declaration.usage): missing; pass it\(variable)")
            } else {
                contents[declaration.name] = try parameter.content(of: texts, from: source)
            }
        }
        if let rest = operands.first {
            let option = Self.option(for: rest, line, of: command)
            let fix = option.map { "did you mean '\($0) \(rest)'?" } ?? "remove it"
            throw UsageError("\(rest): unexpected argument; \(fix)")
        }
        guard missing.isEmpty else {
            throw UsageError(missing.joined(separator: "\n"))
        }
    }

    /// The option that an unexpected YAML file was meant for: a required one that is not given.
    private static func option(
        for word: String,
        _ line: SplitLine,
        of command: Command
    ) -> String? {
        guard word.hasSuffix(".yaml") || word.hasSuffix(".yml") else { return nil }
        return command.parameters.map(\.declaration).first { declaration in
            guard case .file = declaration.hint else { return false }
            return declaration.isRequired && !declaration.isOperand
                && line.options[declaration.name] == nil
        }?.label
    }

    /// The value of a parameter that the command declares.
    package subscript<Value>(_ parameter: Parameter<Value>) -> Value {
        guard let content = contents[parameter.declaration.name] as? Parameter<Value>.Content else {
            preconditionFailure("'\(command)' declares no \(parameter.declaration.label)")
        }
        return content.value
    }

    /// Whether the command line has the option; its environment variable or default does not count.
    package func has<Value>(_ option: Parameter<Value>) -> Bool { line.has(option) }
}

/// An error in the command line; the exit code is 64.
package struct UsageError: Error, Hashable, Sendable {
    let text: String

    /// `text`: one line per mistake, as `place: what is wrong; what to do`.
    package init(_ text: String) {
        self.text = text
    }
}
