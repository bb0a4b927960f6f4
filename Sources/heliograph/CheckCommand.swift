import Commands
import Configuration
import Service
import Tools

enum CheckCommand {
    private static let schemas = Option.flag(
        "schemas",
        help: "Print the schemas in use instead of the configuration."
    )

    private static let connect = Option.flag(
        "connect",
        help: "Also try Kafka, the Schema Registry and APNs."
    )

    /// The limit for one connection to APNs.
    private static let timeout = Duration.seconds(10)

    static let command = Command(
        "check",
        "Check the configuration, credentials and connections.",
        text: """
            Without --connect, opens no connections. Prints the effective configuration without \
            secrets, or every problem with its key and its line in the file. A certificate that \
            has expired or is not valid yet is a problem; one that expires within 30 days and has \
            less than a third of its lifetime left is a warning.

            --schemas lists the shipped schemas and those in schemas.directory, each with its \
            title, its $id and what it is used for. It cannot be combined with --connect.

            --connect also tries the brokers and the login, each topic and the rights on it, the \
            consumer group and transactions, the Schema Registry, and a connection to APNs for \
            each credential. It prints one line for each, instead of the configuration: "ok" or \
            "failed", the key, what is wrong and what to do. It sends no notification, joins no \
            group, and writes no record and no offset to Apache Kafka.
            """,
        parameters: [ConfigurationOption.config, schemas, connect],
        examples: [
            "Check a file before a deployment": "heliograph check --config heliograph.yaml",
            "Try all connections": "heliograph check --connect --config heliograph.yaml",
            "List the schemas": "heliograph check --config heliograph.yaml --schemas",
        ],
        exitCodes: [
            0: "The configuration is valid, and with --connect everything works.",
            1: "There are problems, or standard output cannot be written.",
        ]
    ) { arguments in
        guard !arguments[schemas] || !arguments[connect] else {
            throw UsageError("--schemas: opens no connections; remove it or --connect")
        }
        let configuration = arguments.loadConfiguration()
        guard !arguments[schemas] else {
            Console.show(configuration.schemaListing)
            return
        }
        do {
            let warnings = try configuration.checkCredentialsNow()
            if !arguments[connect] { Console.show(configuration.summary) }
            for warning in warnings { Console.complain("warning: \(warning)") }
            if arguments[connect] { try tryConnections(configuration) }
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.complain("configuration, keys and files are valid")
    }

    /// Prints each group of findings as soon as it is complete.
    ///
    /// - Throws: Errors that prevent the check; ends the process if any connection fails.
    private static func tryConnections(_ configuration: Configuration) throws {
        let parts: [() throws -> [ConnectionFinding]] = [
            { configuration.tryKafkaAndRegistry() },
            { try ReachRun(configuration, timeout: timeout).findings() },
        ]
        var failureCount = 0
        for part in parts {
            let findings = try part()
            if !findings.isEmpty { Console.show(findings.map(\.line).joined(separator: "\n")) }
            failureCount += findings.filter(\.isFailure).count
        }
        guard failureCount > 0 else { return }
        Console.complain("\(failureCount) \(failureCount == 1 ? "check" : "checks") failed")
        Console.end(.failure)
    }
}
