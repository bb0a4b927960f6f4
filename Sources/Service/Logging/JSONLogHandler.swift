import Foundation
import JSON
import Logging
import Synchronization
import Telemetry

/// Log lines as JSON objects on standard error: `time`, `level`, `message`, then the keys.
struct JSONLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    /// RFC 3339 in UTC, with milliseconds.
    private static let timeFormat = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("time")
        writer.string(Date.now.formatted(Self.timeFormat))
        writer.name("level")
        writer.string(event.level.rawValue)
        writer.name("message")
        writer.string(event.message.description)
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        for key in all.keys.sorted() {
            guard let value = all[key] else { continue }
            writer.name(key)
            writer.string("\(value)")
        }
        writer.endObject()
        StandardError.write(writer.bytes)
    }
}

/// Whole lines on standard error, one at a time.
enum StandardError {
    private static let lock = Mutex(())

    static func write(_ line: [UInt8]) {
        lock.withLock { _ in
            FileHandle.standardError.write(Data(line + [UInt8(ascii: "\n")]))
        }
    }
}
