import Yams

/// The text of a configuration file as a tree of nodes.
///
/// Yams gives up at the first key that is set twice. To report them all, together with everything
/// else, the first of the two is renamed in the text, to as many characters as it had, so that
/// every position stays true.
struct ConfigurationFile {
    let name: String
    /// Nil for an empty file, or one that is not YAML.
    private(set) var root: Node?
    private(set) var problems: [ConfigurationProblem] = []
    /// What the renamed keys were called.
    private(set) var duplicates: [String: String] = [:]

    /// Reads a text; `name` is what locations call it.
    init(text: String, name: String) {
        self.name = name
        var text = text
        // Editors on Windows begin a file with a byte order mark.
        if text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
        for _ in 0...Self.maxDuplicates {
            do {
                root = try Yams.compose(yaml: text, .default, .default, .utf8)
                return
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                guard let renamed = rename(keys, at: context.mark, in: text) else {
                    report("'\(keys.joined(separator: "', '"))' is set twice", context.mark)
                    return
                }
                text = renamed
            } catch let error as YamlError {
                report(error)
                return
            } catch {
                report("is not YAML: \(error)", nil)
                return
            }
        }
        report("has more than \(Self.maxDuplicates) keys that are set twice", nil)
    }

    func location(of node: Node) -> ConfigurationLocation? {
        node.mark.map(location)
    }

    private func location(_ mark: Mark) -> ConfigurationLocation {
        .file(name, line: mark.line, column: mark.column)
    }

    private static let maxDuplicates = 100

    /// Replaces the one of `keys` that stands at `mark` by a word nobody writes.
    ///
    /// - Returns: nil if none stands there literally, as a key with escapes does not.
    private mutating func rename(_ keys: [String], at mark: Mark, in text: String) -> String? {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
            Array($0.unicodeScalars)
        }
        guard lines.indices.contains(mark.line - 1) else { return nil }
        let line = lines[mark.line - 1]
        for key in keys {
            let scalars = Array(key.unicodeScalars)
            for start in [mark.column - 1, mark.column] {
                let end = start + scalars.count
                guard !scalars.isEmpty, start >= 0, end <= line.count,
                    Array(line[start..<end]) == scalars,
                    let word = uniqueWord(length: scalars.count)
                else { continue }
                duplicates[String(String.UnicodeScalarView(word))] = key
                lines[mark.line - 1].replaceSubrange(start..<end, with: word)
                let changed = lines.map { String(String.UnicodeScalarView($0)) }
                return changed.joined(separator: "\n")
            }
        }
        return nil
    }

    /// Characters of the private use area, other ones for each duplicate.
    private func uniqueWord(length: Int) -> [Unicode.Scalar]? {
        Unicode.Scalar(0xE000 + UInt32(duplicates.count)).map { scalar in
            Array(repeating: scalar, count: length)
        }
    }

    private mutating func report(_ message: String, _ mark: Mark?) {
        problems.append(
            ConfigurationProblem(path: "", message: message, location: mark.map(location))
        )
    }

    private mutating func report(_ error: YamlError) {
        switch error {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            let sentence = context.map { "\($0.text), \(problem)" } ?? problem
            report("is not YAML: \(sentence)", mark)
        case .reader(let problem, _, _, _):
            report("is not YAML: \(problem)", nil)
        case .no, .memory, .writer, .emitter, .representer, .dataCouldNotBeDecoded,
            .duplicatedKeysInMapping:
            report("is not YAML: \(error)", nil)
        }
    }
}
