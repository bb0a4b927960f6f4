import ArgumentParser
import Service

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say what a reason in an outcome means, and what to do about it."
    )

    @Argument(help: "A reason, such as BadDeviceToken or NoCredential.")
    var reason: String

    func run() throws {
        guard let text = ReasonExplanation.text(for: reason) else {
            Console.complain("no reason is called '\(reason)'; docs/reasons.md lists them all")
            Console.end(.failure)
        }
        Console.show(text)
    }
}
