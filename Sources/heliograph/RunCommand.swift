import ArgumentParser
import Service

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Run the service until SIGTERM.",
        discussion: """
            On SIGTERM or SIGINT it takes nothing new, finishes what is in hand within \
            limits.drain_timeout, commits, leaves the consumer group, and exits 0.
            """
    )

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.load()
        do {
            _ = try await Service.Heliograph(configuration).run()
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }
}
