import ArgumentParser
import Service

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration and the credentials; send and connect to nothing.",
        discussion: """
            Prints the effective configuration with secrets hidden. Every problem is printed with \
            its key and place in the file, and the exit code is 1.

            With --schemas it prints, instead, the schemas that are loaded: the shipped ones and \
            those of schemas.directory, each with its title and $id, and what it is used for. A \
            schema that does not compile is a problem like any other.
            """
    )

    @OptionGroup var file: ConfigurationOption

    @Flag(help: "Print the schemas that are loaded, and what for, instead of the configuration.")
    var schemas = false

    func run() async throws {
        let configuration = try file.load()
        guard !schemas else {
            Console.show(configuration.schemaListing)
            return
        }
        do {
            try configuration.checkCredentials()
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.show(configuration.summary)
        Console.complain("the configuration, its keys and its files are in order")
    }
}
