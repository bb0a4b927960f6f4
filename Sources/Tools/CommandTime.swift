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
}
