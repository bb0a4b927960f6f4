import JSON
import Vocabulary

/// A request and when it was read, kept until its answer is sent.
struct RequestTiming {
    var token: String
    /// The time before the read from the socket that returned its last byte.
    var readAt: Instant
}

/// One JSON line per answer, with the time that the request spent in this process.
struct TimingLog {
    private var lines: LogLines

    init(fileDescriptor: Int32) {
        lines = LogLines(fileDescriptor: fileDescriptor)
    }

    mutating func append(_ timing: RequestTiming, sentAt: Instant) {
        let held = sentAt.nanoseconds - timing.readAt.nanoseconds
        lines.append { writer in
            writer.name(plain: "token")
            writer.string(timing.token)
            writer.name(plain: "held_us")
            writer.integer(held / 1000)
        }
    }

    mutating func flush() { lines.flush() }
}
