import Glibc
import Service

/// Standard error and the exit.
enum Console {
    enum Ending: Int32 {
        case success = 0
        case failure = 1
        /// The question could not be answered (`validate`), or what was asked for may have been done or not (`channels`).
        case unchecked = 2
    }

    /// Prints each line with the command's name before it.
    static func complain(_ text: String) {
        let lines = text.split(separator: "\n").map { "heliograph: \($0)\n" }.joined()
        StandardError.write(Array(lines.utf8))
    }

    /// Ends the process without waiting for the libraries' threads: everything that matters is
    /// written and committed, and tearing a Kafka client down can hang (librdkafka 2.0.2).
    static func end(_ ending: Ending) -> Never {
        fflush(nil)
        _exit(ending.rawValue)
    }
}
