import ArgumentParser
import Service

/// The command: everything that belongs to running the service.
@main
struct HeliographCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heliograph",
        abstract: "Send push notifications from Kafka to Apple's push service (APNs).",
        discussion: """
            Reads events from Kafka, checks them against a JSON Schema, sends them to APNs, and
            publishes exactly one outcome for each event.

            Exit codes: 0 success; 1 the service could not start or go on, or a check failed;
            64 the command line is wrong.
            """,
        version: Service.Heliograph.version,
        subcommands: [
            RunCommand.self, CheckCommand.self, ValidateCommand.self, ExplainCommand.self,
            PushCommand.self, ChannelsCommand.self, DeadLettersCommand.self,
            PushCommand.self, ChannelsCommand.self, TailCommand.self, DeadLettersCommand.self,
            FingerprintCommand.self, HealthCommand.self,
        ]
    )
}
