import Logging
import Telemetry

extension Logger {
    /// The service's logger; all of its lines go to the sink.
    init(_ configuration: Configuration.Log, sink: LogSink) {
        let level = Level(rawValue: configuration.level.rawValue) ?? .info
        self.init(label: "heliograph") { _ in SinkLogHandler(sink: sink, logLevel: level) }
    }

    /// Logs with keys from the closed list.
    func log(
        level: Logger.Level,
        _ message: Logger.Message,
        _ facts: [LogKey: String]
    ) {
        guard logLevel <= level else { return }
        var metadata = Logger.Metadata(minimumCapacity: facts.count)
        for (key, value) in facts { metadata[key.rawValue] = .string(value) }
        log(level: level, message, metadata: metadata)
    }

    func info(_ message: Logger.Message, _ facts: [LogKey: String]) {
        log(level: .info, message, facts)
    }

    func notice(_ message: Logger.Message, _ facts: [LogKey: String]) {
        log(level: .notice, message, facts)
    }

    func warning(_ message: Logger.Message, _ facts: [LogKey: String]) {
        log(level: .warning, message, facts)
    }

    func error(_ message: Logger.Message, _ facts: [LogKey: String]) {
        log(level: .error, message, facts)
    }

    func critical(_ message: Logger.Message, _ facts: [LogKey: String]) {
        log(level: .critical, message, facts)
    }
}
