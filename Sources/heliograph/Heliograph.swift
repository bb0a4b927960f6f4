package import Commands
import Configuration
import Glibc
import Log
import Service

@main
enum Main {
    static func main() async {
        // Not everything writes with MSG_NOSIGNAL: neither libcurl's TLS nor writes to a pager or a
        // log collector. If the reader is gone, the write must fail instead of ending the process.
        _ = signal(SIGPIPE, SIG_IGN)
        forbidCoreDumps()
        endBySignals()
        await HeliographCommand.program.main(printable: \.printableLines)
    }
}

/// Lets SIGINT and SIGTERM end the process that is PID 1 of a container.
///
/// The kernel ignores signals to it that have no handler. `run` and others install their own.
private func endBySignals() {
    guard getpid() == 1 else { return }
    for number in [SIGINT, SIGTERM] {
        _ = signal(number) { number in _exit(128 + number) }
    }
}

/// Disables core dumps: the memory holds keys, passwords and device tokens.
///
/// A limit of 1 byte is less than any dump. It is also the value for which the kernel does not run
/// the program in `core_pattern`, such as systemd-coredump; 0 is not (`do_coredump` in Linux'
/// fs/coredump.c). PR_SET_DUMPABLE would do the same, but it also closes /proc to the process's own
/// user, and Swift's crash reports then have neither symbol names nor images.
private func forbidCoreDumps() {
    var none = rlimit(rlim_cur: 1, rlim_max: 1)
    // It fails if the limit is 0 and cannot be raised; no file is written in that case.
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
}

/// The command table of the program, with all commands for running the service.
package enum HeliographCommand {
    package static let program = Program(command, version: Service.Heliograph.version)

    private static let command = Command(
        "heliograph",
        "Send push notifications from Kafka to Apple's push service (APNs).",
        text: """
            Reads events from Kafka, checks them against a JSON Schema, sends them to APNs over \
            HTTP/2, and publishes one outcome per event. 'heliograph-lab demo' shows it without \
            Apple and without a Kafka cluster.
            """,
        chapters: [
            "Files and variables": """
            HELIOGRAPH_CONFIG or --config names a YAML file; docs/configuration.md lists its keys. \
            A variable overrides a key: HELIOGRAPH_KAFKA_BOOTSTRAP_SERVERS sets \
            kafka.bootstrap_servers. Keep secrets in separate files, and set their paths in the \
            configuration. NO_COLOR turns colors off.
            """,
            "Output": """
            Results go to standard output; logs, progress and errors go to standard error, one per \
            line. Device tokens, payloads and provider tokens are never shown. If standard output \
            cannot be written, for example because the disk is full, the exit code is not 0. A \
            closed pipe counts as such a failure, except for tail.
            """,
            "Shell completion": """
              source <(heliograph --generate-completion-script bash)
              source <(heliograph --generate-completion-script zsh)
              heliograph --generate-completion-script fish | source

            To keep it, write the script to a file that your shell loads: \
            ~/.local/share/bash-completion/completions/heliograph, a file _heliograph in a folder \
            of zsh's $fpath, or ~/.config/fish/completions/heliograph.fish.
            """,
        ],
        examples: [
            "Run the service": "heliograph run --config heliograph.yaml",
            "Follow outcomes": "heliograph tail --config heliograph.yaml",
            "Read the manual page": "heliograph --generate-manual | man -l -",
        ],
        exitCodes: [
            0: "Done.",
            1: "Failed; standard error says where and why.",
            2: """
            The result is unknown: validate or campaigns could not check everything, or channels or \
            campaigns got no answer.
            """,
            75:
                "Restart the service: a thread or a partition was stuck, or a file for Kafka changed.",
            130: "A second SIGINT ended run at once.",
            143: "A second SIGTERM ended run at once.",
        ],
        commands: [
            "Service": [
                RunCommand.command, CheckCommand.command, CanaryCommand.command,
                HealthCommand.command,
            ],
            "Events and outcomes": [
                ValidateCommand.command, TailCommand.command, ExplainCommand.command,
                DeadLettersCommand.command, CampaignsCommand.command,
            ],
            "Apps and devices": [
                PushCommand.command, ChannelsCommand.command, FingerprintCommand.command,
            ],
        ]
    )
}
