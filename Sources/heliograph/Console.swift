import Glibc
import Log
import Service

/// Standard output, standard error and the exit.
enum Console {
    enum Ending: Int32 {
        case success = 0
        case failure = 1
        /// It is not known: what was asked (`validate`), or whether it was done (`channels`).
        case unchecked = 2
    }

    /// Writes what was asked for to standard output; no peer's text in it steers a terminal.
    ///
    /// When that takes no more, it says so on standard error and ends the process.
    ///
    /// - Parameters:
    ///   - text: One line or several.
    ///   - rest: What standard error has to tell besides, because it must not be lost.
    ///   - ending: How the process then ends.
    static func show(_ text: String, orTell rest: String = "", ending: Ending = .failure) {
        let shown = text.printableLines
        let line = shown.hasSuffix("\n") ? shown : shown + "\n"
        do {
            try ByteStream.output.write(Array(line.utf8))
        } catch {
            complain(rest)
            complain("\(error)")
            end(ending)
        }
    }

    /// Prints each line with the command's name before it; no peer's text in it steers a terminal.
    static func complain(_ text: String) {
        let lines = text.printableLines.split(separator: "\n").map { "heliograph: \($0)\n" }
            .joined()
        StandardError.write(Array(lines.utf8))
    }

    /// Ends the process without waiting for the libraries' threads: everything that matters is
    /// written and committed, and tearing a Kafka client down can hang (librdkafka 2.0.2).
    static func end(_ ending: Ending) -> Never {
        _exit(ending.rawValue)
    }
}
