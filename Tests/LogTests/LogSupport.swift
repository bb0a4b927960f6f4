import Log
import Synchronization

/// A sink that keeps its lines.
final class LogKeeper: Sendable {
    private let kept = Mutex<[String]>([])

    func sink(_ format: LogFormat = .text) -> LogSink {
        LogSink(format: format) { bytes in
            self.kept.withLock { $0.append(String(decoding: bytes, as: UTF8.self)) }
        }
    }

    func log(from minimum: LogLevel = .trace) -> Log { Log(from: minimum, sink: sink()) }

    /// The text lines without time and line feed.
    var lines: [String] {
        kept.withLock { $0.map { $0.drop { $0 != " " }.dropFirst().trimmingLineFeed } }
    }

    /// The lines as they were written.
    var rawLines: [String] { kept.withLock(\.self) }
}

extension Substring {
    fileprivate var trimmingLineFeed: String { String(last == "\n" ? dropLast() : self) }
}
