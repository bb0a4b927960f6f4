import Foundation
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// The destination of all log lines of the process: standard error, in `log.format`.
///
/// Whatever repeats is summarised (`LineDigest`), because the peers decide how often a fault
/// happens. Every line of `debug` and `trace` is written, and every `critical` one: few lines follow it.
package final class LogSink: Sendable {
    private typealias Digest = LineDigest<LogLine>

    private let format: LogFormat
    private let output: @Sendable ([UInt8]) -> Void
    private let digest = Mutex(Digest())

    /// The facts by which lines of one message differ in kind; the others are details.
    private static let subjects: [LogKey] = [
        .credential, .environment, .outcome, .reason, .error, .problem,
    ]

    /// A sink to which nothing was written yet.
    ///
    /// - Parameters:
    ///   - format: How lines are written.
    ///   - output: Takes one line, line feed included; called on the thread that logs.
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

    /// Writes a summary of all that was only counted so far; called once, at the end.
    package func finish() {
        write(digest.withLock { $0.takeAll(now: SystemClock.now) })
    }

    /// What follows a subject's first colon is left out: an error begins with its name, and
    /// continues with addresses and numbers that are never the same.
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
