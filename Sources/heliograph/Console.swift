import Glibc
import Log
import Service
import Synchronization

/// Standard output, standard error and the end of the process.
///
/// Nothing else in the program writes to either, so text from peers cannot control the terminal.
enum Console {
    enum Ending: Int32 {
        case success = 0
        case failure = 1
        /// The result is not known: the answer (`validate`), or whether it was done (`channels`).
        case unchecked = 2
        /// `EX_TEMPFAIL` of sysexits.h: start the program again.
        case again = 75
    }

    /// A part of a line with its color.
    struct Piece {
        var text: String
        /// Parameters of "select graphic rendition" (ECMA-48, section 8.3.117); nil: the default.
        var rendition: String?
    }

    /// Writes lines, each made of pieces, to standard output.
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

    /// Replaces the last line on standard error, which must be a terminal.
    static func draw(_ line: String) {
        StandardError.write(Array("\r\u{1B}[2K\(line.printable)".utf8))
    }

    /// Writes a result to standard output.
    ///
    /// If that fails, it reports the error on standard error and ends the process.
    ///
    /// - Parameters:
    ///   - text: One or more lines.
    ///   - rest: Text that must not be lost; after a failure, it goes to standard error too.
    ///   - ending: The exit code after a failure.
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

    /// From here on, lines on standard error are lost rather than waited for.
    ///
    /// For what runs for long: whoever reads its log must not be able to stop it.
    static func neverWait() {
        waits.store(false, ordering: .relaxed)
    }

    private static let waits = Atomic(true)

    /// Prints lines to standard error, each prefixed with the program's name.
    static func complain(_ text: String) {
        let lines = text.printableLines.split(separator: "\n").map { "heliograph: \($0)\n" }
            .joined()
        if waits.load(ordering: .relaxed) {
            _ = writeWhole(Array(lines.utf8), to: STDERR_FILENO, patienceMilliseconds: -1)
        } else {
            StandardError.write(Array(lines.utf8))
        }
    }

    /// Ends the process without waiting for the libraries' threads.
    ///
    /// Everything that matters is written and committed, and destroying a Kafka client can hang
    /// (librdkafka 2.0.2).
    static func end(_ ending: Ending) -> Never {
        _exit(ending.rawValue)
    }
}
