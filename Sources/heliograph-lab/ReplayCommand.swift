import Commands
import Delivery
import Foundation

enum ReplayCommand {
    static let command = Command(
        "replay",
        "Live a shard's run again from the log of its inputs.",
        text: """
            The service writes such logs where log.inputs_folder says. The same inputs lead to the \
            same decisions, in the version that wrote the log; where they do not, the turn and \
            what differs are printed. A log may break off anywhere: what is whole is replayed.
            """,
        parameters: [file],
        exitCodes: [
            0: "Every decision is the one that was logged.",
            1: "One is not, or the file is damaged or no log.",
        ]
    ) { arguments in
        let path = arguments[file]
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw DemoError("'\(path)' cannot be read")
        }
        var replay = try Replay([UInt8](bytes))
        Terminal.print("logged by Heliograph \(replay.version)")
        while !replay.isAtEnd {
            guard let difference = try replay.next() else { continue }
            let lists = difference.lists.map(\.rawValue).joined(separator: ", ")
            Terminal.print("turn \(difference.turn) decides otherwise: \(lists)")
            Terminal.end(.failure)
        }
        let counts = replay.engine.counts
        Terminal.print(
            """
            \(replay.turns) turns decide as logged: \(counts.consumed) records, \
            \(counts.attempts) attempts, \(counts.terminal) outcomes, \
            \(counts.deferred) put off, \(replay.engine.inFlightEvents) in hand at the end
            """
        )
    }

    private static let file = Operand.required(.file, help: "The log.")
}
