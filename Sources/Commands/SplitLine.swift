import Spelling

/// The words after a command's name, split into options and operands.
///
/// The rules are those of GNU's getopt_long(3): options and operands in any order, `--name value`,
/// `--name=value`, `-n value`, `-nvalue`, clustered flags, and `--` before operands that look like
/// options. Names cannot be abbreviated: adding an option must not break a script.
struct SplitLine {
    /// The values by long name, in order; each use of a flag is an empty text.
    private(set) var options: [String: [String]] = [:]
    private(set) var operands: [String] = []

    private let known: [Declaration]
    private var rest: ArraySlice<String>

    init(_ words: ArraySlice<String>, options known: [Declaration]) throws(UsageError) {
        self.known = known
        rest = words
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            } else if word.hasPrefix("--") {
                try takeLong(word)
            } else if word.hasPrefix("-"), word != "-" {
                try takeShort(word)
            } else {
                operands.append(word)
            }
        }
    }

    func texts<Value>(_ option: Parameter<Value>) -> [String] {
        options[option.declaration.name] ?? []
    }

    func has<Value>(_ option: Parameter<Value>) -> Bool { !texts(option).isEmpty }

    private mutating func takeLong(_ word: String) throws(UsageError) {
        let (label, value) = Self.parts(word)
        guard let option = known.first(where: { $0.label == label }) else { throw unknown(label) }
        if let value, option.isFlag {
            throw UsageError("\(label): takes no value; remove '=\(value)'")
        }
        try note(option, value)
    }

    private mutating func takeShort(_ word: String) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = known.first(where: { $0.short == letter }) else {
                throw unknown(letters.count + 2 == word.count ? word : "-\(letter)")
            }
            guard !option.isFlag else {
                try note(option, nil)
                continue
            }
            return try note(option, letters.isEmpty ? nil : String(letters))
        }
    }

    private mutating func note(_ option: Declaration, _ attached: String?) throws(UsageError) {
        guard !option.isFlag else {
            options[option.name] = [""]
            return
        }
        guard option.isRepeatable || options[option.name] == nil else {
            throw UsageError("\(option.label): given twice; pass it once")
        }
        if let attached {
            options[option.name, default: []].append(attached)
            return
        }
        guard let value = rest.popFirst() else {
            throw UsageError("\(option.label): needs a value; write \(option.usage)")
        }
        // The user forgot the value: no file or topic is named `--json`.
        guard !isOption(value) else {
            throw UsageError(
                "\(option.label): needs a value; write \(option.usage), "
                    + "or \(option.label)=\(value) to pass '\(value)'"
            )
        }
        options[option.name, default: []].append(value)
    }

    /// Whether a word is an option of the command, not just any word that starts with a dash.
    private func isOption(_ word: String) -> Bool {
        word == "--"
            || known.contains { option in
                option.label == Self.parts(word).label || option.short.map { "-\($0)" } == word
            }
    }

    private func unknown(_ word: String) -> UsageError {
        let name = String(word.drop { $0 == "-" })
        let near = NearMiss.of(name, among: known.map(\.name)).map { "; did you mean '--\($0)'?" }
        return UsageError("\(word): unknown option\(near ?? "")")
    }

    /// Splits `--name=value`.
    private static func parts(_ word: String) -> (label: String, value: String?) {
        guard let sign = word.firstIndex(of: "=") else { return (word, nil) }
        return (String(word[..<sign]), String(word[word.index(after: sign)...]))
    }
}
