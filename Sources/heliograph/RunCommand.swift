import Commands
import Service

enum RunCommand {
    static let command = Command(
        "run",
        "Run the service until SIGTERM.",
        text: """
            On SIGTERM or SIGINT the service stops reading events, finishes the ones it has \
            within limits.drain_timeout, commits, leaves the consumer group and exits with 0. A \
            second SIGTERM or SIGINT ends it at once: no event is lost, but those in flight are \
            sent again.

            SIGHUP reads credential files, schemas.directory and all other files that may change \
            at once. Changed files are also read without it, within seconds. When those of \
            kafka.properties change, the service drains and exits with 75, to be started again.
            """,
        parameters: [ConfigurationOption.config],
        exitCodes: [
            0: "The service was stopped and has drained.",
            1: "The service could not start or failed; standard error says why.",
            75: "A thread was stuck, or Kafka's files changed; start the service again.",
            130: "A second SIGINT ended it at once.",
            143: "A second SIGTERM ended it at once.",
        ]
    ) { arguments in
        // First of all: as PID 1 of a container, a signal that nobody catches is dropped.
        Service.Heliograph.catchSignals()
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
