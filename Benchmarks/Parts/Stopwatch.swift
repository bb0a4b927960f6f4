import BenchmarkFloors
import Glibc

/// Adds up the CPU time of this thread that stretches of work take (`clock_gettime(3)`).
///
/// Wall time says little on a machine that others use as well.
final class Stopwatch {
    private(set) var nanoseconds = 0.0
    /// False: nothing is timed or counted, as for warming up.
    private let isRunning: Bool

    init(isRunning: Bool = true) {
        self.isRunning = isRunning
    }

    func measure(_ body: () -> Void) {
        guard isRunning else { return body() }
        withoutActuallyEscaping(body) { body in
            var body = body
            let start = Self.cpuTime()
            // SAFETY: the function calls back before it returns, and keeps nothing.
            unsafe withUnsafeMutablePointer(to: &body) { address in
                unsafe hg_bench_measured(
                    { unsafe $0?.assumingMemoryBound(to: (() -> Void).self).pointee() },
                    address
                )
            }
            nanoseconds += Self.cpuTime() - start
        }
    }

    private static func cpuTime() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
