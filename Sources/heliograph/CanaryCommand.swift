import Commands
import Configuration
import Service
import Vocabulary

enum CanaryCommand {
    static let command = Command(
        "canary",
        "Send an event through the running service each minute.",
        text: """
            Writes a silent notification (background) to a source, reads results.topic until its \
            outcome arrives, and repeats: from Kafka through the service to APNs and back. \
            /metrics on admin.port counts successes and failures and measures the latency; the \
            alert HeliographCanaryFails watches it.

            Give it a device that nobody uses. It needs the rights to write the source and to read \
            results.topic. On the machine of a running service, set another HELIOGRAPH_ADMIN_PORT.
            """,
        parameters: [ConfigurationOption.config, token, bundleID, topic, interval],
        examples: [
            "Watch the service (HELIOGRAPH_CONFIG is set)":
                #"heliograph canary --token "$TOKEN" --bundle-id com.example.app"#
        ],
        exitCodes: [
            0: "Stopped by a signal.",
            1: "Could not start; standard error says why.",
        ]
    ) { arguments in
        Service.Heliograph.catchSignals()
        Console.neverWait()
        let configuration = arguments.loadConfigurationForKafka()
        let sources = configuration.sources.filter { $0.kind == .notification }.map(\.topic)
        guard let source = arguments[topic].map(KafkaTopic.init) ?? sources.first,
            sources.contains(source)
        else {
            let problem = arguments[topic].map { "--topic: '\($0)' is" } ?? "sources: there is"
            Console.complain("\(problem) no source of notifications")
            Console.end(.failure)
        }
        let plan = CanaryPlan(
            topic: source,
            bundleID: arguments[bundleID],
            deviceToken: arguments[token],
            interval: .seconds(arguments[interval])
        )
        do {
            try await Canary(configuration, plan).run()
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }

    private static let token = Option.required(
        "token",
        .deviceToken,
        help: "The device token."
    ).variable("CANARY_DEVICE_TOKEN")
    private static let bundleID = Option.required(
        "bundle-id",
        .text("id"),
        help: "The bundle ID of an app that a credential covers."
    )
    private static let topic = Option.optional(
        "topic",
        .text("topic"),
        help: "The source to write to; by default, the first with notifications."
    )
    private static let interval = Option.defaulted(
        "interval",
        .integer(5...120, "seconds"),
        to: 60,
        help: "From one event to the next, and how long an outcome may take, from 5 to 120."
    )
}
