import Commands
import Configuration
import Foundation
import Service
import Vocabulary

/// The option `--config <file>`, shared by the commands that need the configuration.
enum ConfigurationOption {
    static let config = Option.required(
        "config",
        .file,
        help: "Configuration file (YAML); HELIOGRAPH_... variables override its keys."
    ).variable(Configuration.fileVariable)

    /// Reads the configuration, or prints every problem with it and ends the process.
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

extension Arguments {
    /// Reads the configuration that `--config` names, or ends the process.
    func loadConfiguration() -> Configuration {
        ConfigurationOption.load(self[ConfigurationOption.config])
    }

    /// Does the same for a command that connects to Kafka, and checks `kafka.properties`.
    func loadConfigurationForKafka() -> Configuration {
        let configuration = loadConfiguration()
        do {
            try configuration.checkKafkaProperties()
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        return configuration
    }
}

/// Help texts shared by several commands.
enum CommonText {
    static let json = "Print JSON, one object per line."
}

extension ValueType where Value == DeviceToken {
    static var deviceToken: Self {
        Self("token", expected: "an even number of hexadecimal digits", isSecret: true) { text in
            // A Secret made from a file ends with its line break.
            DeviceToken(text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }
}
