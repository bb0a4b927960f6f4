import Vocabulary

/// Which lanes have something to do in this turn: those that something happened to, and those
/// whose time has come.
///
/// A shard can have hundreds of lanes of which a few are busy; the others cost a comparison.
struct WakeList: Sendable {
    private var touched: [Int] = []
    /// The other buffer: they take turns, so that no turn allocates.
    private var due: [Int] = []
    private var isTouched: [Bool]
    private var deadlines: [Instant]

    private static let never = Instant(nanoseconds: .max)

    init(count: Int) {
        isTouched = Array(repeating: false, count: count)
        deadlines = Array(repeating: Self.never, count: count)
    }

    /// Something happened to the lane.
    mutating func touch(_ lane: Int) {
        guard !isTouched[lane] else { return }
        isTouched[lane] = true
        touched.append(lane)
    }

    /// The lane had its turn, and has another at that time; nil: only when something happens.
    mutating func sleep(_ lane: Int, until deadline: Instant?) {
        deadlines[lane] = deadline ?? Self.never
    }

    /// Hands over the lanes to be turned, and forgets that they were touched.
    mutating func takeDue(now: Instant) -> [Int] {
        for lane in deadlines.indices where deadlines[lane] <= now { touch(lane) }
        for lane in touched { isTouched[lane] = false }
        swap(&due, &touched)
        touched.removeAll(keepingCapacity: true)
        return due
    }

    func next(now: Instant) -> Instant? {
        guard touched.isEmpty else { return now }
        guard let next = deadlines.min(), next < Self.never else { return nil }
        return next
    }
}
