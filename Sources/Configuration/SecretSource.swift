/// The source of a secret: a file or an environment variable.
package enum SecretSource: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// A path.
    case file(String)
    /// Does not change while the process runs.
    case variable(name: String, value: String)

    /// The configuration key: `key_file` for a file, `key` for a variable.
    package func key(_ name: String) -> String {
        switch self {
        case .file: "\(name)_file"
        case .variable: name
        }
    }

    /// The current value; fails if a file has more than `limit` bytes.
    package func read(limit: Int) throws(FileError) -> [UInt8] {
        switch self {
        case .file(let path): try BoundedFile.read(path, limit: limit)
        case .variable(_, let value): Array(value.utf8)
        }
    }

    /// The source's name in messages; never contains the secret.
    package var description: String {
        switch self {
        case .file(let path): path.quoted
        case .variable(let name, _): "the variable \(name)"
        }
    }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension ConfigurationSection {
    /// Reads a secret from the file in `<name>_file`, or from the variable for `name`.
    ///
    /// The key `name` must not be set in the configuration file.
    ///
    /// `isRequired` is nil if the secret is optional; otherwise it says whether it is needed here.
    ///
    /// - Returns: nil if it is missing or rejected.
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
        // The error for a secret itself says where to put it.
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

/// Reading secrets from files.
package enum SecretText {
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The text without the byte order mark and the final line break that editors may add.
    package static func line(of bytes: [UInt8]) -> String {
        var bytes = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same; nil if it is not UTF-8.
    static func line(ofUTF8 bytes: [UInt8]) -> String? {
        String(validating: bytes, as: UTF8.self) == nil ? nil : line(of: bytes)
    }

    /// The same for a text that contains no white space.
    package static func word(in bytes: [UInt8]) -> String {
        var text = line(of: bytes)[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
