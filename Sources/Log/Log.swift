import Foundation

/// The log as a part of the service uses it: minimum level, sink, and the facts of every line.
///
/// It is cheap to copy, so each part keeps its own. A message is a fixed sentence; the variable
/// parts are facts. For a line below the minimum level, neither is built.
package struct Log: Sendable {
    private let minimum: LogLevel
    private let sink: LogSink
    private var facts: LogFacts = [:]
    private var isAlwaysWritten = false

    package init(from minimum: LogLevel, sink: LogSink) {
        self.minimum = minimum
        self.sink = sink
    }

    /// Returns the same log with further facts in each line.
    ///
    /// For a key given more than once, the later fact wins: these facts override those that the log
    /// already has, and a line's own facts override both.
    package func with(_ facts: LogFacts) -> Log {
        var log = self
        log.facts = facts.completed(by: self.facts)
        return log
    }

    /// The same log, but every line is written, even if it repeats.
    ///
    /// Use it for changes of state that peers cannot cause and that all matter: a second change
    /// that looks like the first must not be logged a minute late.
    package var everyLine: Log {
        var log = self
        log.isAlwaysWritten = true
        return log
    }

    /// Whether lines of this level are written; use it to skip the work of preparing a line.
    package func isEnabled(_ level: LogLevel) -> Bool { minimum <= level }

    package func log(
        _ level: LogLevel,
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        guard isEnabled(level) else { return }
        var line = LogLine(
            time: Date.now,
            level: level,
            message: message(),
            facts: facts().completed(by: self.facts)
        )
        line.isAlwaysWritten = isAlwaysWritten
        sink.take(line)
    }
}

extension Log {
    package func info(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.info, message(), facts())
    }

    package func notice(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.notice, message(), facts())
    }

    package func warning(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.warning, message(), facts())
    }

    package func error(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.error, message(), facts())
    }

    package func critical(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.critical, message(), facts())
    }
}

/// The severity of a log line, from least to most severe.
///
/// The raw values are those of `log.level` and of the lines themselves.
package enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}

extension LogLevel: Comparable {
    package static func < (left: Self, right: Self) -> Bool { left.severity < right.severity }

    private var severity: Int {
        switch self {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .notice: 3
        case .warning: 4
        case .error: 5
        case .critical: 6
        }
    }
}
