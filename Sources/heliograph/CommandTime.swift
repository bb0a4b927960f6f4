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

    /// A point in time that has not come yet, in whole seconds.
    static var momentAhead: Self {
        Self(
            "time",
            expected: "a duration such as 15m, or a time to come such as 2099-01-31T08:00:00Z",
            read: { Timestamp(commandLineAhead: $0) }
        )
    }
}
