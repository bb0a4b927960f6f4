import Commands
import heliograph
import heliograph_lab

/// `docs/commands.md`, generated from the tables that the programs use.
enum CommandReference {
    static let programs = [HeliographCommand.program, LabCommand.program]

    static var markdown: String {
        introduction + programs.map(section).joined(separator: "\n") + building
    }

    private static func section(_ program: Program) -> String {
        program.commands.map { path in
            let words = path.words.split(separator: " ").map(String.init)
            let heading = words.count == 1 ? "##" : "###"
            return """
                \(heading) \(path.words)

                ```text
                \(program.help(Array(words.dropFirst())))```

                """
        }.joined(separator: "\n")
    }

    private static let introduction = """
        # Commands

        Generated from the programs' own help; a test compares them.

        [`heliograph`](#heliograph) runs the service and has the tools around it.
        [`heliograph-lab`](#heliograph-lab) holds the demo and the test tools; it is not part of a
        deployment. `heliograph --generate-manual | man -l -` shows the manual page.

        `HELIOGRAPH_CONFIG` replaces `--config`. Each key of the configuration has a variable that
        overrides it, such as `HELIOGRAPH_KAFKA_BOOTSTRAP_SERVERS` for `kafka.bootstrap_servers`.

        ## Signals

        | signal | what `heliograph run` does |
        |---|---|
        | SIGTERM, SIGINT | [Drains](operations.md#stop-and-drain): stops reading events, \
        finishes those in flight within `limits.drain_timeout`, commits, leaves the group, exits \
        with 0. |
        | the same again | Exits at once with 143 or 130. No event is lost; events in flight are \
        sent again. |
        | SIGHUP | Reads all [files that can \
        change](operations.md#change-the-configuration-keys-certificates-and-schemas) again at \
        once. If files of Kafka's clients have changed, the process drains and exits with 75. |


        """

    private static let building = """

        ## Build them

        ```sh
        scripts/build                # as shipped: optimized across modules, takes minutes
        swift build -c release       # faster to build; uses an eighth more CPU
        ```

        `scripts/build` prints the folder with the programs, `swift build -c release \
        --show-bin-path` does the same for the faster build.

        """
}

extension Program {
    /// The output of `--help`, 80 columns wide.
    func help(_ words: [String]) -> String {
        guard case .show(let text) = read(words + ["--help"]) else { return "" }
        return text
    }
}
