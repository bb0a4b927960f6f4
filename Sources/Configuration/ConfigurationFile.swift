import YAML

/// The text of a configuration file as a tree of nodes, with what is wrong in the text itself.
struct ConfigurationFile {
    let name: String
    /// Nil for a file without keys, or one that is not YAML.
    let root: YAMLNode?
    /// Of a file that is not YAML, one; else the keys that are set twice and the like.
    let problems: [ConfigurationProblem]

    /// Reads a text; `name` is what locations call it.
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
