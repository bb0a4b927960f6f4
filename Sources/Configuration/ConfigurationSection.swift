import Spelling
import Vocabulary
import YAML

/// A mapping in the configuration, while it is being read.
///
/// Each call defines one key; `finish` then reports the keys that no call has defined.
final class ConfigurationSection {
    let reader: ConfigurationReader
    let path: [String]
    private let pairs: [YAMLPair]
    private var known: [String] = []

    init(reader: ConfigurationReader, path: [String], setting: Setting) {
        self.reader = reader
        self.path = path
        if case .mapping(let pairs, _) = setting {
            self.pairs = pairs
        } else {
            pairs = []
            if !setting.isUnset {
                let subject = path.isEmpty ? "the file " : ""
                reader.report(
                    "\(subject)\(Self.shape(of: setting)); expected a mapping",
                    at: path.joined(separator: "."),
                    setting.location
                )
            }
        }
    }

    // MARK: Scalars

    /// Reads a key with a default.
    func value<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        default defaultValue: Value,
        _ documentation: String
    ) -> Value {
        define(name, type.name, type.print(defaultValue), documentation)
        let setting = setting(name)
        var value = defaultValue
        if case .scalar(let scalar, _) = setting, scalar.isNull {
            report(name, "is null", type.expectation, setting)
        } else if !setting.isUnset {
            value = parse(name, type, setting) ?? type.placeholder
        }
        note(name, type.print(value))
        return value
    }

    /// Reads a key that may be null.
    func optional<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        default defaultValue: Value? = nil,
        _ documentation: String
    ) -> Value? {
        define(name, type.name, defaultValue.map(type.print) ?? "null", documentation)
        let setting = setting(name, mayBeNull: true)
        var value = defaultValue
        if case .scalar(let scalar, _) = setting, scalar.isNull {
            value = nil
        } else if !setting.isUnset {
            value = parse(name, type, setting)
        }
        note(name, value.map(type.print) ?? "null")
        return value
    }

    /// Reads a key that must be set.
    ///
    /// `isNeeded` is false if another key makes it unnecessary.
    func required<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        isNeeded: Bool = true,
        _ documentation: String
    ) -> Value {
        define(name, type.name, nil, documentation)
        let setting = setting(name)
        guard !setting.isUnset else {
            if isNeeded { report(name, "is missing", type.expectation, setting) }
            return type.placeholder
        }
        let value = parse(name, type, setting) ?? type.placeholder
        note(name, type.print(value))
        return value
    }

    /// Whether the file or the environment sets a key to anything but null.
    func isSet(_ name: String, mayBeNull: Bool = false) -> Bool {
        !setting(name, mayBeNull: mayBeNull).isUnset
    }

    /// Whether the file or the environment sets a list.
    func hasList(_ name: String) -> Bool {
        if case .absent = setting(name) { return reader.hasVariable(under: path + [name]) }
        return true
    }

    /// Reports every key that was not defined.
    func finish() {
        for pair in pairs where !known.contains(pair.key) {
            let question = NearMiss.question(
                pair.key,
                among: known,
                otherwise: "; see docs/configuration.md"
            )
            reader.report(
                "is not a known key\(question)",
                at: fullPath(pair.key),
                reader.file.location(pair.keyMark)
            )
        }
    }

    // MARK: Helpers

    func setting(_ name: String, mayBeNull: Bool = false) -> Setting {
        known.append(name)
        let node = pairs.first { $0.key == name }?.value
        return reader.setting(path + [name], node, mayBeNull: mayBeNull)
    }

    func parse<Value>(
        _ name: String,
        _ type: ValueType<Value>,
        _ setting: Setting
    ) -> Value? {
        guard case .scalar(let scalar, _) = setting else {
            report(name, Self.shape(of: setting), type.expectation, setting)
            return nil
        }
        if scalar.isNull {
            report(name, "is null", type.expectation, setting)
            return nil
        }
        switch type.read(scalar) {
        case .value(let value): return value
        case .refused(let cause):
            report(name, cause, type.expectation, setting)
            return nil
        }
    }

    func define(
        _ name: String,
        _ type: String,
        _ defaultText: String?,
        _ documentation: String
    ) {
        let words = (path + [name]).map { Int($0) == nil ? $0 : "[]" }
        reader.define(
            KeyDefinition(
                path: words.joined(separator: ".").replacing(".[]", with: "[]"),
                type: type,
                defaultText: defaultText,
                documentation: documentation
            )
        )
    }

    /// Adds a value, or the default of an absent key, to the summary.
    func note(_ name: String, _ text: String) {
        reader.noteValue(text, at: fullPath(name))
    }

    func noteLocation(_ location: ConfigurationLocation?, _ name: String) {
        reader.noteLocation(location, at: fullPath(name))
    }

    func report(_ name: String, _ cause: String, _ expected: String, _ at: Setting) {
        reader.report("\(cause); expected \(expected)", at: fullPath(name), at.location)
    }

    private func fullPath(_ name: String) -> String {
        (path + [name]).joined(separator: ".")
    }

    func isVariable(_ location: ConfigurationLocation?) -> Bool {
        if case .environment = location { true } else { false }
    }

    static func shape(of setting: Setting) -> String {
        switch setting {
        case .absent: "is missing"
        case .scalar(let scalar, _): scalar.isNull ? "is null" : "is a scalar"
        case .list: "is a list"
        case .mapping: "is a mapping"
        }
    }
}
