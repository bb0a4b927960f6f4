import Log

/// The location of a value.
package enum ConfigurationLocation: Hashable, Sendable, CustomStringConvertible {
    /// Line and column count from 1; columns count Unicode scalars.
    case file(String, line: Int, column: Int)
    case environment(variable: String)

    package var description: String {
        switch self {
        case .file(let name, let line, let column): "\(name):\(line):\(column)"
        case .environment(let variable): variable
        }
    }
}

/// A problem with the configuration.
package struct ConfigurationProblem: Hashable, Sendable, CustomStringConvertible {
    /// The key, such as `apns.credentials.0.key_file`; empty for the whole file.
    package var path: String
    /// What is wrong, and what is expected.
    package var message: String
    /// Nil for a key that is not set.
    package var location: ConfigurationLocation?

    package init(path: String, message: String, location: ConfigurationLocation? = nil) {
        // The text in place of a key may be anything, too.
        self.path = Secrets.withoutKeys(path)
        self.message = Secrets.withoutKeys(Secrets.withoutPasswords(message))
        self.location = location
    }

    package var description: String {
        let place = location.map { " (\($0))" } ?? ""
        guard !path.isEmpty else {
            if case .environment(let variable) = location {
                return "\(variable): \(message)".printable
            }
            return "\(message)\(place)".printable
        }
        // Keys and values of the file may contain any characters.
        return "\(path): \(message)\(place)".printable
    }

    /// Without duplicates, in the order in which people fix them: from the top of the file, then
    /// the rest.
    package static func ordered(_ problems: [ConfigurationProblem]) -> [ConfigurationProblem] {
        var told: Set<ConfigurationProblem> = []
        let different = problems.filter { told.insert($0).inserted }
        let ranked = different.enumerated().map { index, problem in
            switch problem.location {
            case .file(_, let line, let column): ((line, column, index), problem)
            case .environment, nil: ((Int.max, 0, index), problem)
            }
        }
        return ranked.sorted { $0.0 < $1.0 }.map(\.1)
    }
}

extension Configuration {
    /// A problem with the value of a key.
    func problem(_ message: String, at path: String) -> ConfigurationProblem {
        ConfigurationProblem(path: path, message: message, location: locations[path])
    }
}

/// All problems with the configuration; never empty.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationProblem]

    package var description: String {
        problems.map(\.description).joined(separator: "\n")
    }
}
