import YAML

extension ConfigurationSection {
    /// Reads a list of scalars that must not be empty.
    func list<Element>(
        _ name: String,
        of type: ValueType<Element>,
        _ documentation: String
    ) -> [Element] {
        define(name, "list of \(type.name)", nil, documentation)
        let setting = setting(name)
        guard let elements = elements(name, setting) else { return [] }
        if elements.isEmpty {
            report(name, "is empty", "at least one, \(type.expectation)", setting)
        }
        return values(name, of: type, elements)
    }

    /// Reads a list of scalars with a default; it may be empty.
    func list<Element>(
        _ name: String,
        of type: ValueType<Element>,
        default defaultValue: [Element],
        _ documentation: String
    ) -> [Element] {
        let defaultText = Self.print(defaultValue, type)
        define(name, "list of \(type.name)", defaultText, documentation)
        let setting = setting(name)
        if case .absent = setting {
            note(name, defaultText)
            return defaultValue
        }
        return elements(name, setting).map { values(name, of: type, $0) } ?? []
    }

    /// - Returns: nil, after reporting a problem, if it is not a list.
    private func elements(_ name: String, _ setting: Setting) -> [Setting]? {
        switch setting {
        case .absent: return []
        case .list(let nodes, _): return nodes.map { reader.setting($0) }
        case .scalar(let scalar, let location):
            guard isVariable(location), !scalar.isNull else {
                report(name, scalar.isNull ? "is null" : "is a scalar", "a list", setting)
                return nil
            }
            return Self.elements(of: scalar.text, location)
        case .mapping:
            report(name, "is a mapping", "a list", setting)
            return nil
        }
    }

    private func values<Element>(
        _ name: String,
        of type: ValueType<Element>,
        _ elements: [Setting]
    ) -> [Element] {
        let values = elements.enumerated().compactMap { parse("\(name).\($0)", type, $1) }
        note(name, Self.print(values, type))
        return values
    }

    private static func print<Element>(_ values: [Element], _ type: ValueType<Element>) -> String {
        "[\(values.map(type.print).joined(separator: ", "))]"
    }

    /// Reads a list of mappings with `body`; empty if the key is absent.
    func entries<Entry>(_ name: String, _ body: (ConfigurationSection) -> Entry) -> [Entry] {
        let setting = setting(name)
        var elements: [Setting] = []
        switch setting {
        case .absent: break
        case .list(let nodes, _): elements = nodes.map { reader.setting($0) }
        case .scalar, .mapping:
            report(name, Self.shape(of: setting), "a list of mappings", setting)
        }
        // Entries past the end of the file's list can only come from the environment.
        while reader.hasVariable(under: path + [name, "\(elements.count)"]) {
            elements.append(.absent)
        }
        if let (variable, entry) = reader.variable(past: elements.count, inListAt: path + [name]) {
            reader.report(
                "has no entry \(elements.count); set it before entry \(entry)",
                at: (path + [name]).joined(separator: "."),
                .environment(variable: variable)
            )
        }
        if reader.isDescribing { elements = [.absent] }
        return elements.enumerated().map { index, element in
            let path = path + [name, "\(index)"]
            if element.isUnset, !reader.isDescribing, !reader.hasVariable(under: path) {
                reader.report("is null; expected a mapping", at: path.joined(separator: "."))
            }
            let section = ConfigurationSection(reader: reader, path: path, setting: element)
            defer { section.finish() }
            return body(section)
        }
    }

    func section<Value>(_ name: String, _ body: (ConfigurationSection) -> Value) -> Value {
        let section = ConfigurationSection(
            reader: reader,
            path: path + [name],
            setting: setting(name)
        )
        defer { section.finish() }
        return body(section)
    }

    /// Reads a mapping with arbitrary keys: all its scalars, by name.
    ///
    /// In a variable's name, `_` stands for the property's `.`, except before a final `FILE`.
    func properties(_ name: String, _ documentation: String) -> [String: String] {
        define(name, "mapping of text, numbers and booleans", "{}", documentation)
        var properties: [String: String] = [:]
        let setting = setting(name)
        if case .mapping(let pairs, _) = setting {
            for pair in pairs {
                let setting = reader.setting(pair.value)
                noteLocation(setting.location, "\(name).\(pair.key)")
                if case .scalar(let scalar, _) = setting, !scalar.isNull {
                    properties[pair.key] = scalar.text
                } else {
                    report(
                        "\(name).\(pair.key)",
                        Self.shape(of: setting),
                        "text, a number or a boolean",
                        setting
                    )
                }
            }
        } else if !setting.isUnset {
            report(name, Self.shape(of: setting), "a mapping", setting)
        }
        for (variable, suffix, value) in reader.variables(under: path + [name]) {
            let dotted = suffix.lowercased().split(separator: "_").joined(separator: ".")
            let property = KafkaPropertyFile.key(ofVariable: dotted)
            properties[property] = value
            noteLocation(.environment(variable: variable), "\(name).\(property)")
        }
        for (property, value) in properties.sorted(by: { $0.key < $1.key }) {
            let isPath = KafkaPropertyFile.property(of: property) != nil
            let shown = isPath ? value : Secrets.masked(value, of: property)
            note("\(name).\(property)", shown)
        }
        return properties
    }

    /// Splits a list in one variable, which is separated by commas or in YAML's brackets.
    private static func elements(
        of text: String,
        _ location: ConfigurationLocation?
    ) -> [Setting] {
        var text = Substring(text)
        if text.hasPrefix("["), text.hasSuffix("]") { text = text.dropFirst().dropLast() }
        return text.split(separator: ",").map { element in
            var word = String(element).trimmed
            let isQuoted =
                word.count >= 2 && word.first == word.last && "\"'".contains(word.prefix(1))
            if isQuoted { word = String(word.dropFirst().dropLast()) }
            return .scalar(Scalar(text: word, style: isQuoted ? .quoted : .variable), location)
        }
    }
}

extension String {
    /// The text without white space at its ends.
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
