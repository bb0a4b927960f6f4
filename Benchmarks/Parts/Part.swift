/// A piece of the work that is measured alone.
struct Part {
    let name: String
    /// What one repetition is, for the report.
    let unit: String
    /// Does the work so many times; whatever it returns keeps the compiler from leaving it out.
    let work: (Int) -> Int

    init(_ name: String, per unit: String, _ work: @escaping (Int) -> Int) {
        self.name = name
        self.unit = unit
        self.work = work
    }
}
