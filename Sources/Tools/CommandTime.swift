import Configuration
import EventCodec
import SystemIO
package import Vocabulary

extension Timestamp {
    /// Parses a time on the command line: RFC 3339, or a duration before now, such as `15m`.
    package init?(commandLine text: String) {
        self.init(commandLine: text, now: SystemClock.wallClock)
    }

    package init?(commandLine text: String, now: Timestamp) {
        if let time = Timestamp(rfc3339: Array(text.utf8)[...]) {
            self = time
        } else if let ago = DurationText.parse(text) {
            self.init(milliseconds: max(0, now.milliseconds - ago.milliseconds))
        } else {
            return nil
        }
    }

    /// Parses a time that has not come yet: RFC 3339, or a duration from now, such as `15m`.
    ///
    /// Rounded up to whole seconds.
    package init?(commandLineAhead text: String) {
        self.init(commandLineAhead: text, now: SystemClock.wallClock)
    }

    package init?(commandLineAhead text: String, now: Timestamp) {
        let milliseconds: Int64
        if let time = Timestamp(rfc3339: Array(text.utf8)[...]) {
            milliseconds = time.milliseconds
        } else if let ahead = DurationText.parse(text) {
            let (sum, isOver) = now.milliseconds.addingReportingOverflow(ahead.milliseconds)
            guard !isOver else { return nil }
            milliseconds = sum
        } else {
            return nil
        }
        // What an order's record has room for.
        guard milliseconds > now.milliseconds, milliseconds <= 4_294_967_295_000 else { return nil }
        self.init(milliseconds: (milliseconds + 999) / 1000 * 1000)
    }
}
