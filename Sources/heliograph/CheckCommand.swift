import Commands
import Configuration
import Service
import Tools

enum CheckCommand {
    private static let schemas = Option.flag(
        "schemas",
        help: "Print the schemas in use and their purpose instead of the configuration."
    )

    static let command = Command(
        "check",
        "Check the configuration and the credentials without connecting to anything.",
        text: """
            Prints the effective configuration with secrets hidden. Every problem is printed with \
            its key and its place in the file. A certificate that has expired or is not valid yet \
            is a problem; one that expires within 30 days is a warning.

            With --schemas it prints the schemas in use instead: the shipped ones and those of \
            schemas.directory, each with its title, its $id and its purpose. A schema that does \
            not compile is a problem like any other.
            """,
        parameters: [ConfigurationOption.config, schemas],
        exitCodes: [
            0: "The configuration is in order.",
            1: "There are problems, or standard output cannot be written to.",
        ]
    ) { arguments in
        let configuration = arguments.loadConfiguration()
        guard !arguments[schemas] else {
            Console.show(configuration.schemaListing)
            return
        }
        do {
            let warnings = try configuration.checkCredentialsNow()
            Console.show(configuration.summary)
            for warning in warnings { Console.complain("warning: \(warning)") }
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.complain("the configuration, its keys and its files are in order")
    }
}
