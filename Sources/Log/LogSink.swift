import Foundation
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// The destination of all log lines of the process: standard error, in `log.format`.
///
/// Repeated lines are summarized (`LineDigest`), because peers decide how often a fault happens.
/// All lines of `debug` and `trace` are written, and all `critical` ones, which few lines follow.
package final class LogSink: Sendable {
    private typealias Digest = LineDigest<LogLine>

    private let format: LogFormat
    private let output: @Sendable ([UInt8]) -> Void
    private let digest = Mutex(Digest())

    /// The facts that distinguish the kinds of lines with one message; the others are details.
    private static let subjects: [LogKey] = [
        .credential, .environment, .outcome, .reason, .error, .problem,
    ]

    /// Makes a sink that has written nothing yet.
    ///
    /// - Parameters:
    ///   - format: The format of lines.
    ///   - output: Writes one line, including its line feed; called on the thread that logs.
    package init(
        format: LogFormat,
        output: @escaping @Sendable ([UInt8]) -> Void = { StandardError.write($0) }
    ) {
        self.format = format
        self.output = output
    }

    func take(_ line: LogLine) {
        let now = SystemClock.now
        guard line.isSummarised else {
            write(line)
            return
        }
        let kind = Self.kind(of: line)
        let (summaries, isTold) = digest.withLock { digest in
            (digest.takeSummaries(now: now), digest.admits(line, of: kind, now: now))
        }
        write(summaries)
        if isTold { write(line) }
    }

    /// Writes the summaries that are due; called about once a second.
    package func timeAdvanced() {
        write(digest.withLock { $0.takeSummaries(now: SystemClock.now) })
    }

    /// Writes a summary of all lines that were only counted so far; called once, at the end.
    package func finish() {
        write(digest.withLock { $0.takeAll(now: SystemClock.now) })
    }

    /// The kind of a line, from its message and the part of each subject before the first colon.
    ///
    /// An error's text starts with its name, followed by addresses and numbers that always differ.
    private static func kind(of line: LogLine) -> LineDigest<LogLine>.Kind {
        let subjects = subjects.map { key in
            let text = line.facts[key] ?? ""
            return text.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(text[..<$0]) } ?? text
        }
        return LineDigest.Kind(line.message, about: subjects)
    }

    private func write(_ summaries: [LineDigest<LogLine>.Summary]) {
        for summary in summaries { write(LogLine(summary, time: Date.now)) }
    }

    private func write(_ line: LogLine) {
        switch format {
        case .json: output(line.json + [UInt8(ascii: "\n")])
        case .text: output(Array((line.text + "\n").utf8))
        }
    }
}
