import ArgumentParser
import Glibc
import Service

@main
enum Main {
    static func main() async {
        // Not all libraries write with MSG_NOSIGNAL: libcurl's TLS does not, nor does what goes to
        // a pager or a log collector. A reader that has gone must be a failed write, not the end.
        _ = signal(SIGPIPE, SIG_IGN)
        await HeliographCommand.main()
    }
}

/// The command: everything that belongs to running the service.
struct HeliographCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heliograph",
        abstract: "Send push notifications from Kafka to Apple's push service (APNs).",
        discussion: """
            Reads events from Kafka, checks them against a JSON Schema, sends them to APNs over \
            HTTP/2, and publishes an outcome for each event.

            A first look, without Apple and without a cluster: 'heliograph-lab demo'. With both:

              heliograph check --config heliograph.yaml      is the configuration in order?
              heliograph run --config heliograph.yaml        run the service
              heliograph tail --config heliograph.yaml       see outcomes as they come
              heliograph explain BadDeviceToken              what to do about a reason

            FILES AND VARIABLES
            --config names a YAML file; docs/configuration.md lists its keys. A variable overrides \
            a key: HELIOGRAPH_KAFKA_BOOTSTRAP_SERVERS sets kafka.bootstrap_servers. Secrets are \
            named by the paths of their files. NO_COLOR turns colours off.

            OUTPUT
            What was asked for goes to standard output; logs, progress and complaints to standard \
            error, a line each. Device tokens, payloads and provider tokens are never shown. When \
            standard output takes no more, as on a full disk, standard error says so and the exit \
            code is not 0; only tail takes a reader that has gone for its end.

            EXIT CODES
              0   done
              1   it was not done: what is wrong, and where, is on standard error
              2   it is not known; see the help of validate and channels
              64  the command line is wrong
              75  run ended because a thread was stuck; start it again
            A second meaning of a code is told in its command's help.

            SHELL COMPLETIONS
              source <(heliograph --generate-completion-script bash)
              heliograph --generate-completion-script zsh > "${fpath[1]}/_heliograph"
              heliograph --generate-completion-script fish | source
            """,
        version: Service.Heliograph.version,
        subcommands: [
            RunCommand.self, CheckCommand.self, ValidateCommand.self, ExplainCommand.self,
            TailCommand.self, PushCommand.self, ChannelsCommand.self, DeadLettersCommand.self,
            FingerprintCommand.self, HealthCommand.self,
        ]
    )
}
