import ArgumentParser
import Service

/// The workbench: everything that runs the service against stand-ins.
///
/// Not in the production image.
@main
struct LabCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heliograph-lab",
        abstract: "Run Heliograph against an embedded Kafka and a simulated APNs.",
        version: Service.Heliograph.version,
        subcommands: [
            DemoCommand.self, SimulateAPNsCommand.self, KafkaCommand.self, SimulateCommand.self,
            LoadCommand.self,
        ]
    )
}
