import ArgumentParser
import Service

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the configuration and the credentials; send and connect to nothing.",
        discussion: """
            Prints the effective configuration with secrets hidden. Every problem is printed with
            its key and place in the file, and the exit code is 1.
            """
    )

    @OptionGroup var file: ConfigurationOption

    func run() async throws {
        let configuration = try file.load()
        do {
            try configuration.checkCredentials()
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        print(configuration.summary, terminator: "")
        Console.complain("the configuration, its keys and its files are in order")
    }
}
