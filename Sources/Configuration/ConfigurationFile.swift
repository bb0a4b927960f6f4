import YAML

/// A configuration file as a tree, with the problems of the text itself.
struct ConfigurationFile {
    let name: String
    /// Nil if the file has no keys, or is not YAML.
    let root: YAMLNode?
    /// One problem if the file is not YAML; otherwise, for example, keys that are set twice.
    let problems: [ConfigurationProblem]

    /// Reads a text; locations call it `name`.
    init(_ bytes: [UInt8], name: String) {
        self.name = name
        do throws(YAMLError) {
            let document = try YAMLDocument(bytes)
            root = document.root
            problems = document.problems.map { problem in
                ConfigurationProblem(
                    path: problem.path.joined(separator: "."),
                    message: problem.message,
                    location: .file(name, problem.mark)
                )
            }
        } catch {
            root = nil
            problems = [
                ConfigurationProblem(
                    path: "",
                    message: "the file \(error.message)",
                    location: .file(name, error.mark)
                )
            ]
        }
    }

    func location(_ mark: YAMLMark) -> ConfigurationLocation { .file(name, mark) }
}

extension ConfigurationLocation {
    fileprivate static func file(_ name: String, _ mark: YAMLMark) -> ConfigurationLocation {
        .file(name, line: mark.line, column: mark.column)
    }
}
