import Commands
import Configuration
import Service
import Tools

enum CheckCommand {
    private static let schemas = Option.flag(
        "schemas",
        help: "Print the schemas in use instead of the configuration."
    )

    static let command = Command(
        "check",
        "Check the configuration, credentials and schemas offline.",
        text: """
            Connects to nothing. Prints the effective configuration without secrets, or every \
            problem with its key and its line in the file. A certificate that has expired or is \
            not valid yet is a problem; one that expires within 30 days is a warning.

            --schemas lists the shipped schemas and those in schemas.directory, each with its \
            title, its $id and what it is used for.
            """,
        parameters: [ConfigurationOption.config, schemas],
        examples: [
            "Check a file before a deployment": "heliograph check --config heliograph.yaml",
            "List the schemas": "heliograph check --config heliograph.yaml --schemas",
        ],
        exitCodes: [
            0: "The configuration is valid.",
            1: "There are problems, or standard output cannot be written.",
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
        Console.complain("configuration, keys and files are valid")
    }
}
