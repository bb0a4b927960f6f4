import Synchronization

/// Numbers that are handed out once.
final class NameCounter: Sendable {
    private let count = Atomic<Int>(0)

    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}
