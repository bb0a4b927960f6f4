import Commands
import Configuration
import Glibc
import Log
import Service

@main
enum Main {
    static func main() async {
        // Not all libraries write with MSG_NOSIGNAL: libcurl's TLS does not, nor does what goes to
        // a pager or a log collector. A reader that has gone must be a failed write, not the end.
        _ = signal(SIGPIPE, SIG_IGN)
        forbidCoreDumps()
        await Program(HeliographCommand.command, version: Service.Heliograph.version)
            .main(printable: \.printableLines)
    }
}

/// Has the kernel write no core dump: the memory holds keys, passwords and device tokens.
///
/// The limit 1 is less than any dump, and the one at which the kernel also leaves a program alone
/// that `core_pattern` names, as systemd-coredump; 0 is not (`do_coredump` in Linux'
/// fs/coredump.c). PR_SET_DUMPABLE would do the same, but it closes /proc to the process' own user,
/// and then a crash report of Swift's has no names, and no images to find them in.
private func forbidCoreDumps() {
    var none = rlimit(rlim_cur: 1, rlim_max: 1)
    // It fails where the limit is 0 already and may not be raised: then no file is written.
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
}

/// The program's table: everything that belongs to running the service.
enum HeliographCommand {
    static let command = Command(
        "heliograph",
        "Send push notifications from Kafka to Apple's push service (APNs).",
        text: """
            Reads events from Kafka, checks them against a JSON Schema, sends them to APNs over \
            HTTP/2, and publishes an outcome for each event. 'heliograph-lab demo' shows all of it \
            without Apple and without a cluster.
            """,
        chapters: [
            "FILES AND VARIABLES": """
            --config names a YAML file, and the variable HELIOGRAPH_CONFIG does the same. \
            docs/configuration.md lists the file's keys. A variable overrides a key: \
            HELIOGRAPH_KAFKA_BOOTSTRAP_SERVERS sets kafka.bootstrap_servers. Secrets are read \
            from files; the configuration has their paths. NO_COLOR turns colours off.
            """,
            "OUTPUT": """
            Results go to standard output; logs, progress and errors go to standard error, one per \
            line. Device tokens, payloads and provider tokens are never shown. If standard output \
            cannot be written to, as on a full disk, standard error says so and the exit code is \
            not 0. Only tail treats a closed pipe as its end.
            """,
            "SHELL COMPLETIONS": """
              source <(heliograph --generate-completion-script bash)
              source <(heliograph --generate-completion-script zsh)
              heliograph --generate-completion-script fish | source

            To keep them, write the script to a file that your shell loads: \
            ~/.local/share/bash-completion/completions/heliograph, a file _heliograph in a folder \
            of zsh's $fpath, or ~/.config/fish/completions/heliograph.fish.
            """,
        ],
        examples: [
            "Check the configuration:": "heliograph check --config heliograph.yaml",
            "Run the service:": "heliograph run --config heliograph.yaml",
            "See outcomes as they arrive:": "heliograph tail --config heliograph.yaml",
            "Find out what to do about a reason:": "heliograph explain BadDeviceToken",
            "Read the manual page:": "heliograph --generate-manual | man -l -",
        ],
        exitCodes: [
            0: "Done.",
            1: "Not done; standard error says what is wrong and where.",
            2: "The result is unknown; see the help of validate and channels.",
            64: "The command line is wrong.",
            75: "run ended because a thread was stuck; start it again.",
        ],
        commands: [
            RunCommand.command, CheckCommand.command, ValidateCommand.command,
            ExplainCommand.command, TailCommand.command, PushCommand.command,
            ChannelsCommand.command, DeadLettersCommand.command, FingerprintCommand.command,
            HealthCommand.command,
        ]
    )
}
