extension CompletionScript {
    /// To be sourced, or saved as the file `_program` in `$fpath` (zshcompsys(1)).
    var zsh: String {
        """
        #compdef \(program)
        # zsh completion for \(program)
        \(function)() {
            local place=\(program)
            local -a commands
            while ((CURRENT > 2)); do
                case "$place $words[2]" in
                (\(commandWords.isEmpty ? "''" : commandWords.joined(separator: " | ")))
                    place+=" $words[2]" ;;
                ('\(program) help') ;;
                (*) break ;;
                esac
                shift words
                ((CURRENT--))
            done
            case $place in
        \(places.map(zshPlace).joined())    esac
        }
        if [[ $funcstack[1] == \(function) ]]; then
            \(function) "$@"
        else
            compdef \(function) \(program)
        fi

        """
    }

    private func zshPlace(_ path: CommandPath) -> String {
        let specs = path.options.flatMap(Self.zshSpecs) + path.operands.map(Self.zshOperand)
        let commands = commands(at: path).map { Self.zshQuoted("\($0):\($1)") }
        let description = """
                    commands=(
                        \(commands.joined(separator: "\n            "))
                    )
                    [[ $words[CURRENT] == -* || $words[CURRENT-1] == -* ]] ||
                        { _describe -t commands command commands; return }

            """
        return """
                ('\(path.words)')
            \(commands.isEmpty ? "" : description)        _arguments -s -S : \\
                        \(specs.map(Self.zshQuoted).joined(separator: " \\\n            "))
                    ;;

            """
    }

    /// One spec for the long name and one for the short name; each excludes the other.
    private static func zshSpecs(_ option: Declaration) -> [String] {
        let names = [option.label] + (option.short.map { ["-\($0)"] } ?? [])
        let value = option.valueName.map { ":\(zshText($0)):\(zshAction(option.hint))" } ?? ""
        return names.map { name in
            let rule = option.isRepeatable ? "*" : "(\(names.joined(separator: " ")))"
            let takes = option.isFlag ? "" : name.hasPrefix("--") ? "=" : "+"
            return "\(rule)\(name)\(takes)[\(zshText(option.help))]\(value)"
        }
    }

    private static func zshOperand(_ operand: Declaration) -> String {
        ":\(zshText(operand.name)):\(zshAction(operand.hint))"
    }

    private static func zshAction(_ hint: ValueHint) -> String {
        switch hint {
        case .text: " "
        case .file: "_files"
        case .folder: "_files -/"
        case .words(let words): "(\(words.joined(separator: " ")))"
        }
    }

    private static func zshQuoted(_ text: String) -> String {
        "'" + text.replacing("'", with: #"'\''"#) + "'"
    }

    /// Escapes brackets and colons, which end a part of a spec.
    private static func zshText(_ text: String) -> String {
        text.map { #"[]:\"#.contains($0) ? "\\\($0)" : "\($0)" }.joined()
    }
}
