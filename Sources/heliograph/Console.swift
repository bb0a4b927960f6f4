import Glibc
import Log
import Service

/// Standard output, standard error and the exit.
///
/// Nothing else in the program writes to either, so no peer's text steers a terminal.
enum Console {
    enum Ending: Int32 {
        case success = 0
        case failure = 1
        /// It is not known: what was asked (`validate`), or whether it was done (`channels`).
        case unchecked = 2
        /// `EX_TEMPFAIL` of sysexits.h: to be started again.
        case again = 75
    }

    /// A piece of a line, and how it looks.
    struct Piece {
        var text: String
        /// Parameters of "select graphic rendition" (ECMA-48, 8.3.117); nil: as usual.
        var rendition: String?
    }

    /// Writes lines of such pieces to standard output.
    static func write(_ lines: [[Piece]]) throws(OutputError) {
        let texts = lines.map { line in
            line.map { piece in
                let text = piece.text.printable
                return piece.rendition.map { "\u{1B}[\($0)m\(text)\u{1B}[0m" } ?? text
            }.joined() + "\n"
        }
        try ByteStream.output.write(Array(texts.joined().utf8))
    }

    /// Writes whole lines to standard output.
    static func write(_ lines: [UInt8]) throws(OutputError) {
        let text = String(decoding: lines, as: UTF8.self).printableLines
        try ByteStream.output.write(Array(text.utf8))
    }

    /// Draws over the last line of standard error, which is a terminal.
    static func draw(_ line: String) {
        StandardError.write(Array("\r\u{1B}[2K\(line.printable)".utf8))
    }

    /// Writes the result to standard output.
    ///
    /// When that takes no more, it says so on standard error and ends the process.
    ///
    /// - Parameters:
    ///   - text: One line or several.
    ///   - rest: What also goes to standard error, because it must not be lost.
    ///   - ending: How the process then ends.
    static func show(_ text: String, orTell rest: String = "", ending: Ending = .failure) {
        let line = text.hasSuffix("\n") ? text : text + "\n"
        do {
            try write(Array(line.utf8))
        } catch {
            complain(rest)
            complain("\(error)")
            end(ending)
        }
    }

    /// Prints each line with the command's name before it.
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
