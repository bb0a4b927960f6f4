import Commands
import Delivery
import Foundation

enum ReplayCommand {
    static let command = Command(
        "replay",
        "Replay a shard's run from its input log.",
        text: """
            The service writes input logs to log.inputs_folder. The version that wrote the log \
            makes the same decisions again. The replay ends at the first turn that differs and \
            prints what differs. A log may end anywhere: every complete turn is replayed.
            """,
        parameters: [file],
        examples: ["Replay a log": "heliograph-lab replay shard-0.log"],
        exitCodes: [
            0: "Every decision matches the log.",
            1: "A decision differs, or the file is damaged or not an input log.",
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
            Terminal.print("turn \(difference.turn) differs from the log: \(lists)")
            Terminal.end(.failure)
        }
        let counts = replay.engine.counts
        Terminal.print(
            """
            \(replay.turns) turns decided as logged: \(counts.consumed) records, \
            \(counts.attempts) attempts, \(counts.terminal) outcomes, \
            \(counts.deferred) deferred, \(replay.engine.inFlightEvents) in flight at the end
            """
        )
    }

    private static let file = Operand.required(.file, help: "The input log.")
}
