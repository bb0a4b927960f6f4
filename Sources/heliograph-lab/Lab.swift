import Commands
import Log
import Service

/// The workbench: everything that runs the service against stand-ins.
///
/// Not in the production image.
@main
enum Lab {
    static func main() async {
        await Program(command, version: Service.Heliograph.version)
            .main(printable: \.printableLines)
    }

    private static let command = Command(
        "heliograph-lab",
        "Run Heliograph against an embedded Kafka and a simulated APNs.",
        commands: [
            DemoCommand.command, SimulateAPNsCommand.command, KafkaCommand.command,
            SimulateCommand.command, ReplayCommand.command, LoadCommand.command,
        ]
    )
}
