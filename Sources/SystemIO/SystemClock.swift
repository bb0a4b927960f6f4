import Glibc
public import Vocabulary

/// The machine's clocks.
///
/// Only the outer modules read them; the core gets times as inputs.
public enum SystemClock {
    /// CLOCK_MONOTONIC.
    public static var now: Instant {
        let time = read(CLOCK_MONOTONIC)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// CLOCK_REALTIME.
    public static var wallClock: Timestamp {
        let time = read(CLOCK_REALTIME)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        // SAFETY: clock_gettime writes one timespec.
        let status = unsafe clock_gettime(clock, &time)
        precondition(status == 0, "clock \(clock) cannot be read")
        return time
    }
}
