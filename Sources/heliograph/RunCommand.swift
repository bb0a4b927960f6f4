import Commands
import Service

enum RunCommand {
    static let command = Command(
        "run",
        "Run the service until SIGTERM.",
        text: """
            SIGTERM or SIGINT drains: the service stops reading events, finishes those in flight \
            within limits.drain_timeout, commits, leaves the consumer group and exits with 0. A \
            second signal ends it at once: no event is lost, but those in flight are sent again.

            SIGHUP reloads credentials, schemas and other files at once; without it, changes are \
            picked up within seconds. When a file named in kafka.properties changes, the service \
            drains and exits with 75, so that its supervisor restarts it.
            """,
        parameters: [ConfigurationOption.config],
        examples: [
            "Run with a configuration file": "heliograph run --config heliograph.yaml",
            "Override a key":
                "HELIOGRAPH_LOG_LEVEL=debug heliograph run --config heliograph.yaml",
        ],
        exitCodes: [
            0: "Stopped by a signal, and drained.",
            1: "Could not start, or failed; standard error says why.",
            75:
                "A thread or a partition was stuck, or a file for Kafka changed; restart the service.",
            130: "Ended at once by a second SIGINT.",
            143: "Ended at once by a second SIGTERM.",
        ]
    ) { arguments in
        // Must come first: as PID 1 of a container, a signal without a handler is ignored.
        Service.Heliograph.catchSignals()
        Console.neverWait()
        let configuration = arguments.loadConfiguration()
        do {
            _ = try await Service.Heliograph(configuration).run()
        } catch is Service.RestartWanted {
            Console.end(.again)
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }
}
