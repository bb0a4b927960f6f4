package import Commands
import Log
import Service

/// The workbench: commands that run the service against simulated peers.
///
/// It is not part of the production image.
@main
enum Lab {
    static func main() async {
        await LabCommand.program.main(printable: \.printableLines)
    }
}

package enum LabCommand {
    package static let program = Program(command, version: Service.Heliograph.version)

    private static let command = Command(
        "heliograph-lab",
        "Run Heliograph against an embedded Kafka and a simulated APNs.",
        text: "The demo and the test tools. Not part of a deployment.",
        commands: [
            "Whole service": [DemoCommand.command],
            "Stand-ins": [
                SimulateAPNsCommand.command, KafkaCommand.command, LoadCommand.command,
            ],
            "Delivery core": [SimulateCommand.command, ReplayCommand.command],
        ]
    )
}
