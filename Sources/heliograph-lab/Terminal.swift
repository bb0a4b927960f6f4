import Foundation
import Log
import Service

/// Standard output, which may be a terminal, and the end of the process.
enum Terminal {
    enum Ending: Int32 {
        case success = 0
        case failure = 1
    }

    /// Whether lines can be redrawn.
    static var isInteractive: Bool {
        isatty(STDOUT_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    }

    static func print(_ line: String = "") {
        write(line.printableLines + "\n")
    }

    /// Redraws the previous line on a terminal; elsewhere, prints a line.
    static func progress(_ line: String) {
        guard isInteractive else { return print(line) }
        // Turns line wrapping off: a second row could not be redrawn.
        write("\r\u{1B}[2K\u{1B}[?7l" + line.printable + "\u{1B}[?7h")
    }

    /// Keeps the line that `progress` drew last.
    static func endProgress() {
        if isInteractive { print() }
    }

    static func complain(_ text: String) {
        let lines = text.printableLines.split(separator: "\n").map { "heliograph-lab: \($0)\n" }
            .joined()
        StandardError.write(Array(lines.utf8))
    }

    private static func write(_ text: String) {
        // However long it takes: unlike a log, this output is all that the reader wants.
        _ = writeWhole(Array(text.utf8), to: STDOUT_FILENO, patienceMilliseconds: -1)
    }

    /// Ends the process without waiting for the libraries' threads.
    ///
    /// Nothing is buffered, so nothing is flushed: fflush(3) would wait for a `readLine`.
    static func end(_ ending: Ending) -> Never {
        _exit(ending.rawValue)
    }
}
