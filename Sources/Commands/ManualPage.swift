/// The manual page, in the macros of man(7).
struct ManualPage {
    private let root: CommandPath
    private var below: [CommandPath] { Array(root.all.dropFirst()) }

    init(_ root: CommandPath) {
        self.root = root
    }

    var text: String {
        let name = Self.escaped(root.words)
        var lines = [
            ".TH \(name.uppercased()) 1 \"\" \"\(name) \(Self.escaped(root.version ?? ""))\"",
            // Left-aligned and without hyphenation, so that command-line words are not broken.
            ".ad l", ".nh",
            ".SH NAME", "\(name) \\- \(Self.escaped(Self.phrase(root.command.summary)))",
            ".SH SYNOPSIS",
        ]
        lines += root.all.filter { $0.command.body != nil }.flatMap { [Self.usage($0), ".br"] }
        lines.removeLast()
        let text = root.command.text
        lines += [".SH DESCRIPTION"]
        lines += text.isEmpty ? Self.filled(root.command.summary) : Self.paragraphs(text)
        if !below.isEmpty { lines += [".SH COMMANDS"] + below.flatMap(Self.section) }
        lines += [".SH OPTIONS"] + (root.operands + root.options).flatMap(Self.row)
        for (title, text) in root.command.chapters {
            lines += [".SH \(Self.escaped(title.uppercased()))"] + Self.paragraphs(text)
        }
        if !root.exitCodes.isEmpty { lines += [".SH EXIT STATUS"] + Self.exitCodes(root) }
        if !variables.isEmpty { lines += [".SH ENVIRONMENT"] + variables }
        if !root.command.examples.isEmpty {
            lines += [".SH EXAMPLES"] + Self.examples(root).dropFirst()
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// A command's summary, text, options, exit codes and examples.
    private static func section(_ path: CommandPath) -> [String] {
        let command = path.command
        var lines = [".SS \(escaped(path.words))"] + filled(command.summary)
        if !command.text.isEmpty { lines += [".PP"] + paragraphs(command.text) }
        if command.body != nil { lines += [".PP", usage(path)] }
        lines += command.parameters.flatMap { row($0.declaration) }
        if command.body != nil { lines += [".PP", "Exit codes:"] + exitCodes(path) }
        return lines + examples(path)
    }

    private static func usage(_ path: CommandPath) -> String {
        "\\fB\(escaped(path.words))\\fR\(escaped(path.usage.dropFirst(path.words.count)))"
    }

    private static func row(_ declaration: Declaration) -> [String] {
        [".TP", "\\fB\(escaped(declaration.helpLabel))\\fR"] + filled(declaration.fullHelp)
    }

    private static func exitCodes(_ path: CommandPath) -> [String] {
        path.exitCodes.flatMap { [".TP", "\($0)"] + filled($1) }
    }

    private static func examples(_ path: CommandPath) -> [String] {
        path.command.examples.flatMap { purpose, line in
            [".PP", escaped(purpose) + ":", ".PP", ".nf", "  " + escaped(line), ".fi"]
        }
    }

    /// Each environment variable of an option, once.
    private var variables: [String] {
        var known: Set<String> = []
        return root.all.flatMap { $0.options }.flatMap { option -> [String] in
            guard let variable = option.variable, known.insert(variable).inserted else { return [] }
            let meaning = "Used if \(Self.escaped(option.label)) is not given."
            return [".TP", "\\fB\(variable)\\fR", meaning]
        }
    }

    private static func paragraphs(_ text: String) -> [String] {
        var lines: [String] = []
        var isVerbatim = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("  ") != isVerbatim {
                lines.append(isVerbatim ? ".fi" : ".nf")
                isVerbatim.toggle()
            }
            lines += line.isEmpty ? [".PP"] : isVerbatim ? [escaped(line)] : filled(line)
        }
        return isVerbatim ? lines + [".fi"] : lines
    }

    /// The text as lines of the page's source; none starts with a roff request.
    private static func filled(_ text: some StringProtocol) -> [String] {
        TextLayout.fill(TextLayout.words(text).map(escaped), width: 80)
            .split(separator: "\n").map(String.init)
    }

    /// The sentence without its capital letter and its period.
    private static func phrase(_ sentence: String) -> String {
        let end = sentence.hasSuffix(".") ? sentence.dropLast() : sentence[...]
        return end.prefix(1).lowercased() + end.dropFirst()
    }

    /// Escapes the characters that are special to roff (groff_char(7)).
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = text.hasPrefix(".") ? "\\&" : ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\(rs"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "\"": escaped += "\\(dq"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case "`": escaped += "\\(ga"
            case _ where character.isASCII: escaped.unicodeScalars.append(character)
            default:
                let digits = String(character.value, radix: 16, uppercase: true)
                let zeros = String(repeating: "0", count: max(0, 4 - digits.count))
                escaped += "\\[u\(zeros)\(digits)]"
            }
        }
        return escaped
    }
}
