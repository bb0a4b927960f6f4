import Commands
import Service
import Tools

enum ExplainCommand {
    private static let reason = Operand.required(
        .text("reason"),
        help: "A reason from an outcome, such as BadDeviceToken or NoCredential."
    )

    static let command = Command(
        "explain",
        "Explain a reason, and what to do about it.",
        parameters: [reason],
        examples: ["Explain a reason from APNs": "heliograph explain BadDeviceToken"],
        exitCodes: [
            0: "The explanation was printed.",
            1: "The reason is unknown, or standard output cannot be written.",
        ]
    ) { arguments in
        let reason = arguments[reason]
        guard let text = ReasonExplanation.text(for: reason) else {
            Console.complain("\(reason): unknown reason\(ReasonName.question(about: reason))")
            Console.end(.failure)
        }
        Console.show(text)
    }
}
