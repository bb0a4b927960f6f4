/// A piece of the work that is measured alone.
struct Part {
    let name: String
    /// What one repetition is, for the report.
    let unit: String
    /// How many repetitions one turn of the work does.
    let batch: Int
    /// Does so many turns, what counts of them inside of `Stopwatch.measure`; whatever it returns
    /// keeps the compiler from leaving the work out.
    let work: (Int, Stopwatch) -> Int

    /// All of the work counts, and a turn is one repetition.
    init(_ name: String, per unit: String, _ work: @escaping (Int) -> Int) {
        self.init(name, per: unit, batch: 1) { turns, stopwatch in
            var result = 0
            stopwatch.measure { result = work(turns) }
            return result
        }
    }

    /// The work measures itself, `batch` repetitions a turn, as many as come together in the
    /// service at full load.
    init(
        _ name: String,
        per unit: String,
        batch: Int,
        _ work: @escaping (Int, Stopwatch) -> Int
    ) {
        self.name = name
        self.unit = unit
        self.batch = batch
        self.work = work
    }
}
