import Commands
import Tools
import Vocabulary

extension ValueType<Timestamp> {
    /// A point in time, as used by `--since` and `--until`.
    static var moment: Self {
        Self(
            "time",
            expected: "a duration such as 15m, or a time such as 2026-01-31T08:00:00Z",
            read: { Timestamp(commandLine: $0) }
        )
    }
}
