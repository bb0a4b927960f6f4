import Glibc

/// What the repetitions of a part cost, in CPU nanoseconds of this thread (`clock_gettime(3)`).
///
/// Wall time says little on a machine that others use as well.
struct Measurement {
    let part: Part
    /// Nanoseconds a repetition, one figure a run, ascending.
    let runs: [Double]

    var minimum: Double { runs[0] }
    var median: Double { runs[runs.count / 2] }
    var maximum: Double { runs[runs.count - 1] }

    /// Measures parts in turns, so that a busy minute of the machine falls on all of them.
    static func take(of parts: [Part], runs: Int, runLength: Duration) -> [Measurement] {
        let repetitions = parts.map { calibrated($0, runLength) }
        var figures = parts.map { _ in [Double]() }
        for _ in 0..<runs {
            for (index, part) in parts.enumerated() {
                let elapsed = cost(of: part, repetitions[index])
                figures[index].append(elapsed / Double(repetitions[index]))
            }
        }
        return zip(parts, figures).map { Measurement(part: $0, runs: $1.sorted()) }
    }

    /// How many repetitions last about as long as wanted; warms caches on the way.
    private static func calibrated(_ part: Part, _ runLength: Duration) -> Int {
        let wanted = runLength / .nanoseconds(1)
        var repetitions = 1
        while true {
            let elapsed = cost(of: part, repetitions)
            if elapsed * 10 >= wanted {
                return max(1, Int(Double(repetitions) * wanted / elapsed))
            }
            repetitions *= 4
        }
    }

    private static func cost(of part: Part, _ repetitions: Int) -> Double {
        let start = cpuTime()
        let result = part.work(repetitions)
        let elapsed = cpuTime() - start
        precondition(result != .min, "a part says how much work it did")
        return elapsed
    }

    private static func cpuTime() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
