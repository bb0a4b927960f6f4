/// What the repetitions of a part cost, in CPU nanoseconds of this thread.
struct Measurement {
    let part: Part
    /// Nanoseconds a repetition, one figure a run, ascending.
    let runs: [Double]

    var minimum: Double { runs[0] }
    var median: Double { runs[runs.count / 2] }
    var maximum: Double { runs[runs.count - 1] }

    /// Measures parts in turns, so that a busy minute of the machine falls on all of them.
    static func take(of parts: [Part], runs: Int, runLength: Duration) -> [Measurement] {
        let turns = parts.map { calibrated($0, runLength) }
        var figures = parts.map { _ in [Double]() }
        for _ in 0..<runs {
            for (index, part) in parts.enumerated() {
                let elapsed = cost(of: part, turns[index])
                figures[index].append(elapsed / Double(turns[index] * part.batch))
            }
        }
        return zip(parts, figures).map { Measurement(part: $0, runs: $1.sorted()) }
    }

    /// How many turns last about as long as wanted; warms caches on the way.
    private static func calibrated(_ part: Part, _ runLength: Duration) -> Int {
        let wanted = runLength / .nanoseconds(1)
        var turns = 1
        while true {
            let elapsed = cost(of: part, turns)
            if elapsed * 10 >= wanted {
                return max(1, Int(Double(turns) * wanted / elapsed))
            }
            turns *= 4
        }
    }

    private static func cost(of part: Part, _ turns: Int) -> Double {
        let stopwatch = Stopwatch()
        let result = part.work(turns, stopwatch)
        precondition(result != .min, "a part says how much work it did")
        return stopwatch.nanoseconds
    }
}
