import BenchmarkFloors

/// Runs the parts so that callgrind can count their instructions, one dump a part.
///
/// `Benchmarks/instructions.py` starts valgrind and reads the dumps.
enum InstructionCount {
    /// Prints one line a part when its dump is written: its name, and how many repetitions it has.
    static func run(_ parts: [Part], repetitions: Int) {
        for part in parts {
            let turns = max(1, repetitions / part.batch)
            // Tables grow and caches fill the first time.
            let results = [false, true].map { isRunning in
                part.work(turns, Stopwatch(isRunning: isRunning))
            }
            precondition(!results.contains(.min), "a part says how much work it did")
            hg_bench_part_ended()
            print("\(turns * part.batch) \(part.name)")
        }
    }
}
