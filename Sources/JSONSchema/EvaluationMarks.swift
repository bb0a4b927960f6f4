/// Which children of an array or object were evaluated (JSON Schema Core, 11).
///
/// Up to 64 children need no allocation.
struct EvaluationMarks {
    private var first: UInt64 = 0
    private var others: [UInt64] = []

    /// Makes marks for `count` children, all unset.
    init(count: Int) {
        if count > 64 { others = Array(repeating: 0, count: (count + 63) / 64 - 1) }
    }

    mutating func insert(_ position: Int) {
        if position < 64 {
            first |= 1 << UInt64(position)
        } else {
            others[position / 64 - 1] |= 1 << UInt64(position % 64)
        }
    }

    mutating func insertAll() {
        first = .max
        for index in others.indices { others[index] = .max }
    }

    func contains(_ position: Int) -> Bool {
        let word = position < 64 ? first : others[position / 64 - 1]
        return word >> UInt64(position % 64) & 1 == 1
    }

    /// - Parameter marks: The marks of the same container.
    mutating func formUnion(_ marks: borrowing EvaluationMarks) {
        first |= marks.first
        for index in others.indices { others[index] |= marks.others[index] }
    }
}
