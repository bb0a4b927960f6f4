/// The number of events by outcome.
public struct OutcomeCounts: Hashable, Sendable {
    /// Events for which at least one request was sent to APNs before they ended.
    public private(set) var sent = 0
    /// In the order of `OutcomeKind.allCases`.
    private var ended = Array(repeating: 0, count: OutcomeKind.allCases.count)

    public init() {}

    /// Makes counts that were written before; a missing kind is 0.
    public init(sent: Int, _ ended: [OutcomeKind: Int]) {
        self.sent = sent
        for (kind, count) in ended { self.ended[kind.position] = count }
    }

    public subscript(kind: OutcomeKind) -> Int { ended[kind.position] }

    /// All events that have ended.
    public var total: Int { ended.reduce(0, +) }

    /// Counts an event that has ended; `isSent`: at least one request was sent for it.
    public mutating func count(_ kind: OutcomeKind, isSent: Bool) {
        ended[kind.position] += 1
        if isSent { sent += 1 }
    }

    public static func += (left: inout OutcomeCounts, right: OutcomeCounts) {
        left.sent += right.sent
        for place in left.ended.indices { left.ended[place] += right.ended[place] }
    }

    public static func + (left: OutcomeCounts, right: OutcomeCounts) -> OutcomeCounts {
        var sum = left
        sum += right
        return sum
    }
}
