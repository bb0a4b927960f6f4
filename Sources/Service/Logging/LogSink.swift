import Foundation
import HTTP2IO
import Logging
import Synchronization
import Telemetry
import Vocabulary

/// Where all log lines of the process go: standard error, as `log.format` says.
///
/// Whatever repeats is summarised (`LineDigest`), because the peers decide how often a fault
/// happens. `debug` and `trace` are for whoever wants every line, and after `critical` little comes.
final class LogSink: Sendable {
    private typealias Digest = LineDigest<LogLine>

    private let format: Configuration.LogFormat
    private let digest = Mutex(Digest())

    /// The facts by which lines of one message differ in kind; the others are details.
    private static let subjects: [LogKey] = [
        .credential, .environment, .outcome, .reason, .error, .problem,
    ]

    init(format: Configuration.LogFormat) {
        self.format = format
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

    /// Tells of what repeated; to be called about once a second.
    func timeAdvanced() {
        write(digest.withLock { $0.takeSummaries(now: SystemClock.now) })
    }

    /// Tells what was only counted so far; to be called at the end.
    func finish() {
        write(digest.withLock { $0.takeAll(now: SystemClock.now) })
    }

    /// Errors begin with a name, and go on with addresses and numbers that are never the same.
    private static func kind(of line: LogLine) -> LineDigest<LogLine>.Kind {
        let subjects = subjects.map { key in
            let text = line.facts[key.rawValue, default: ""]
            return text.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(text[..<$0]) } ?? text
        }
        return LineDigest.Kind(line.message, about: subjects)
    }

    private func write(_ summaries: [LineDigest<LogLine>.Summary]) {
        for summary in summaries { write(LogLine(summary)) }
    }

    private func write(_ line: LogLine) {
        switch format {
        case .json: StandardError.write(line.json + [UInt8(ascii: "\n")])
        case .text: StandardError.write(Array((line.text + "\n").utf8))
        }
    }
}

/// Hands lines to the sink.
struct SinkLogHandler: LogHandler {
    let sink: LogSink
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let own = event.metadata ?? [:]
        var facts = [String: String](minimumCapacity: metadata.count + own.count)
        for (key, value) in metadata { facts[key] = "\(value)" }
        for (key, value) in own { facts[key] = "\(value)" }
        sink.take(
            LogLine(
                time: Date.now,
                level: event.level,
                message: event.message.description,
                facts: facts
            )
        )
    }
}
