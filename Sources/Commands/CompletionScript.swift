/// A shell script that completes a program's command lines.
///
/// It follows the words before the cursor to a place in the command table, such as `heliograph
/// tail`, and offers what can come next. Words that are no commands do not change the place.
struct CompletionScript {
    enum Shell: String, CaseIterable, Sendable {
        case bash
        case zsh
        case fish
    }

    let root: CommandPath
    var program: String { root.words }
    /// The name of the shell function.
    var function: String { "_" + program.replacing("-", with: "_") }
    var places: [CommandPath] { root.all }
    /// All commands below the program, quoted.
    var commandWords: [String] { places.dropFirst().map { "'\($0.words)'" } }

    func text(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    /// The words allowed at a place; the program itself also accepts `help`.
    func commands(at path: CommandPath) -> [(name: String, summary: String)] {
        let help = [(name: "help", summary: "Show the help of a command.")]
        let commands = path.command.commands.map { (name: $0.name, summary: $0.summary) }
        return commands + (path.groups.isEmpty && !commands.isEmpty ? help : [])
    }
}

// MARK: - bash

extension CompletionScript {
    private var bash: String {
        """
        # bash completion for \(program)
        \(function)() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
            local place=\(program) paths= words= index
            # bash makes three words of --name=value.
            if [[ $current == = ]]; then
                current=
            elif [[ $previous == = ]]; then
                previous=${COMP_WORDS[COMP_CWORD - 2]}
            fi
            for ((index = 1; index < COMP_CWORD; index++)); do
                case "$place ${COMP_WORDS[index]}" in
                \(commandWords.isEmpty ? "''" : commandWords.joined(separator: " | ")))
                    place+=" ${COMP_WORDS[index]}" ;;
                esac
            done
            case $place in
        \(places.map(bashPlace).joined())    esac
            if [[ $paths ]]; then
                compopt -o filenames 2>/dev/null
                mapfile -t COMPREPLY < <(compgen "$paths" -- "$current")
            else
                mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
            fi
        }
        complete -F \(function) \(program)

        """
    }

    /// Completes option values, then commands, options, and files if an operand is a file.
    private func bashPlace(_ path: CommandPath) -> String {
        let rows = path.options.filter { !$0.isFlag }.map { option in
            "        \(option.label)) \(Self.bashValues(option.hint)) ;;\n"
        }
        let words = commands(at: path).map(\.name) + path.options.map(\.label) + ["-h"]
        let hasFile = path.operands.contains { $0.hint == .file }
        return """
                '\(path.words)')
                    case $previous in
            \(rows.joined())        *)
                        \(Self.bashValues(.words(words)))
                        \(hasFile ? "[[ $current == -* ]] || paths=-f" : "") ;;
                    esac ;;

            """
    }

    private static func bashValues(_ hint: ValueHint) -> String {
        switch hint {
        case .text: ""
        case .file: "paths=-f"
        case .folder: "paths=-d"
        case .words(let words): "words=\"\(words.joined(separator: " "))\""
        }
    }
}

// MARK: - fish

extension CompletionScript {
    private var fish: String {
        """
        # fish completion for \(program)
        function _\(function)_at
            set -l place \(program)
            for word in (commandline -opc)[2..-1]
                if contains -- "$place $word" \(commandWords.joined(separator: " "))
                    set place "$place $word"
                end
            end
            test $place = "$argv"
        end
        complete -c \(program) -f
        \(places.flatMap(fishRows).map { "complete -c \(program) \($0)\n" }.joined())
        """
    }

    private func fishRows(_ path: CommandPath) -> [String] {
        let place = "-n '_\(function)_at \(path.words)'"
        let commands = commands(at: path).map { "\(place) -a \($0) -d \(Self.fishQuoted($1))" }
        let options = path.options.map { option in
            let short = option.short.map { " -s \($0)" } ?? ""
            let names =
                "-l \(option.name)\(short)\(option.isFlag ? "" : Self.fishValue(option.hint))"
            return "\(place) \(names) -d \(Self.fishQuoted(option.help))"
        }
        let hasFile = path.operands.contains { $0.hint == .file }
        return commands + options + (hasFile ? ["\(place) -F"] : [])
    }

    private static func fishValue(_ hint: ValueHint) -> String {
        switch hint {
        case .text: " -x"
        case .file: " -r -F"
        case .folder:
            // Removes the option's name, or fish would put it before each folder.
            " -x -a '(__fish_complete_directories (commandline -ct"
                + #" | string replace -r "^--[^=]*=" ""))'"#
        case .words(let words): " -x -a '\(words.joined(separator: " "))'"
        }
    }

    private static func fishQuoted(_ text: String) -> String {
        "'" + text.replacing(#"\"#, with: #"\\"#).replacing("'", with: #"\'"#) + "'"
    }
}
