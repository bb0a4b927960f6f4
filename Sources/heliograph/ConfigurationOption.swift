import ArgumentParser
import Foundation
import Service

/// `--config FILE`, shared by the commands that need the configuration.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The configuration file (YAML). Variables HELIOGRAPH_… override its keys.",
            valueName: "file"
        )
    )
    var config: String

    /// Reads the configuration, or prints every problem with it and ends the process.
    func load() throws -> Configuration { Self.load(config) }

    static func load(_ file: String) -> Configuration {
        do {
            return try Configuration(
                file: file,
                environment: ProcessInfo.processInfo.environment
            )
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }
}
