import Foundation

/// The log as a part of the service uses it: a minimum level, the sink, and facts that every line
/// has.
///
/// Cheap to copy, so each part keeps its own. A message is a fixed sentence; what varies is in the
/// facts. A line below the minimum level builds neither.
package struct Log: Sendable {
    private let minimum: LogLevel
    private let sink: LogSink
    private var facts: LogFacts = [:]
    private var isAlwaysWritten = false

    package init(from minimum: LogLevel, sink: LogSink) {
        self.minimum = minimum
        self.sink = sink
    }

    /// The same log; each of its lines has these facts, too.
    ///
    /// Where a key is given twice, the later fact wins: these win over those that the log has
    /// already, and a line's own win over both.
    package func with(_ facts: LogFacts) -> Log {
        var log = self
        log.facts = facts.completed(by: self.facts)
        return log
    }

    /// The same log, whose lines are all written, also those that repeat.
    ///
    /// For changes of state that no peer causes and that all matter: a second one that looks like
    /// the first must not be logged a minute late.
    package var everyLine: Log {
        var log = self
        log.isAlwaysWritten = true
        return log
    }

    /// Whether lines of the level are written; for work that precedes the line.
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
    package func trace(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.trace, message(), facts())
    }

    package func debug(
        _ message: @autoclosure () -> String,
        _ facts: @autoclosure () -> LogFacts = [:]
    ) {
        log(.debug, message(), facts())
    }

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

/// How severe a log line is, from the least severe to the most.
///
/// The raw values are the words of `log.level` and of the lines themselves.
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
