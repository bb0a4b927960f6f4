import Commands
import Service
import Tools

enum ExplainCommand {
    private static let reason = Operand.required(
        .text("REASON"),
        help: "A reason, such as BadDeviceToken or NoCredential."
    )

    static let command = Command(
        "explain",
        "Explain a reason found in an outcome, and what to do about it.",
        parameters: [reason],
        examples: ["A reason of APNs:": "heliograph explain BadDeviceToken"],
        exitCodes: [
            0: "The explanation was printed.",
            1: "No reason has this name, or standard output cannot be written to.",
        ]
    ) { arguments in
        let reason = arguments[reason]
        guard let text = ReasonExplanation.text(for: reason) else {
            Console.complain("no reason is called '\(reason)'; docs/reasons.md lists them all")
            Console.end(.failure)
        }
        Console.show(text)
    }
}
