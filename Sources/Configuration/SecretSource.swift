/// Where a secret comes from: a file, or an environment variable.
package enum SecretSource: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// Its path.
    case file(String)
    /// Stays the same while the process runs.
    case variable(name: String, value: String)

    /// The key of the configuration that says so: `key_file`, or `key`.
    package func key(_ name: String) -> String {
        switch self {
        case .file: "\(name)_file"
        case .variable: name
        }
    }

    /// What is there now; `limit` is the most that a file may have.
    package func read(limit: Int) throws(FileError) -> [UInt8] {
        switch self {
        case .file(let path): try BoundedFile.read(path, limit: limit)
        case .variable(_, let value): Array(value.utf8)
        }
    }

    /// What messages call it; never the secret.
    package var description: String {
        switch self {
        case .file(let path): path.quoted
        case .variable(let name, _): "the variable \(name)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ConfigurationSection {
    /// A secret, from the file that the key `<name>_file` names or from the variable of the key
    /// `name`, which must not be in the configuration file.
    ///
    /// `isRequired` is nil where it may be missing; else it says whether it is needed here.
    ///
    /// - Returns: nil if it is missing, or refused.
    func secret(
        _ name: String,
        isRequired: Bool? = nil,
        file fileDocumentation: String,
        _ documentation: String
    ) -> SecretSource? {
        let fileKey = "\(name)_file"
        let hasVariable = isSet(name, mayBeNull: true)
        let hasFile = isSet(fileKey, mayBeNull: isRequired == nil)
        var type = ValueType.filePath
        // The error for a secret itself says where it belongs.
        let variable = ConfigurationReader.variable(for: self.path + [name])
        type.expectation += ", or the variable \(variable)"
        let path: String? =
            if let isRequired {
                required(fileKey, type, isNeeded: isRequired && !hasVariable, fileDocumentation)
            } else {
                optional(fileKey, type, fileDocumentation)
            }
        let value = secretText(name, "\(documentation) Only as a variable.")
        if hasVariable, hasFile {
            reader.report(
                "is set together with `\(fileKey)`; remove one of them",
                at: (self.path + [name]).joined(separator: ".")
            )
        }
        return value ?? path.flatMap { $0.isEmpty ? nil : .file($0) }
    }

    private func secretText(_ name: String, _ documentation: String) -> SecretSource? {
        define(name, "secret", "null", documentation)
        let setting = setting(name, mayBeNull: true)
        note(name, setting.isUnset ? "null" : Secrets.hidden)
        guard !setting.isUnset else { return nil }
        guard case .scalar(let scalar, .environment(let variable)) = setting else {
            let variable = ConfigurationReader.variable(for: path + [name])
            report(
                name,
                "is a secret and does not belong in this file",
                "the variable \(variable), or `\(name)_file`",
                setting
            )
            return nil
        }
        return .variable(name: variable, value: scalar.text)
    }
}

/// Secrets in files of their own.
package enum SecretText {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The file's text without the byte order mark and the line break that editors add to it.
    package static func line(of bytes: [UInt8]) -> String {
        var bytes = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same; nil for what is not UTF-8.
    static func line(ofUTF8 bytes: [UInt8]) -> String? {
        String(validating: bytes, as: UTF8.self) == nil ? nil : line(of: bytes)
    }

    /// The same of a text that has no white space.
    package static func word(in bytes: [UInt8]) -> String {
        var text = line(of: bytes)[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
