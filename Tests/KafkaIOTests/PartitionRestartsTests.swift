import KafkaIO
import Testing
import Vocabulary

@Suite struct PartitionRestartsTests {
    private static let partitions = (0..<3).map(PartitionID.init(index:))

    private enum Step {
        case outOfReach(Int, StartPosition)
        case lostPlace(Int, at: Int64)
        case assignmentEnded
    }

    /// Performs the steps, each at its millisecond.
    private func restarts(after steps: [(at: Int, step: Step)]) -> PartitionRestarts {
        var restarts = PartitionRestarts()
        for (millisecond, step) in steps {
            let now = time(millisecond)
            switch step {
            case .outOfReach(let partition, let position):
                restarts.failed(Self.partitions[partition], readOnFrom: position, now: now)
            case .lostPlace(let partition, let offset):
                let position = StartPosition.at(Offset(offset))
                restarts.failed(Self.partitions[partition], readOnFrom: position, now: now)
            case .assignmentEnded: restarts.assignmentEnded()
            }
        }
        return restarts
    }

    private func time(_ millisecond: Int) -> Instant {
        Instant(nanoseconds: Int64(millisecond) * 1_000_000)
    }

    @Test(
        arguments: [
            ("nothing", [], due: nil, []),
            ("one", [(0, .outOfReach(0, .end))], 250, [(0, .end)]),
            (
                "a restart due a moment later is included",
                [(0, .outOfReach(0, .beginning)), (250, .lostPlace(2, at: 7))],
                250,
                [(0, .beginning), (2, .at(Offset(7)))]
            ),
            (
                "a restart due later waits",
                [(0, .outOfReach(0, .beginning)), (251, .lostPlace(2, at: 7))],
                250,
                [(0, .beginning)]
            ),
            (
                "the last failure of a partition wins",
                [(0, .lostPlace(1, at: 7)), (100, .outOfReach(1, .beginning))],
                350,
                [(1, .beginning)]
            ),
            (
                "a partition without progress is not included",
                [(0, .lostPlace(1, at: 7)), (0, .lostPlace(1, at: 7)), (0, .outOfReach(0, .end))],
                250,
                [(0, .end)]
            ),
            (
                "the assignment has ended", [(0, .lostPlace(1, at: 7)), (0, .assignmentEnded)], nil,
                []
            ),
        ] as [(String, [(at: Int, step: Step)], due: Int?, [(Int, StartPosition)])]
    )
    private func `all restarts that are due now or in a moment are combined`(
        story: String,
        steps: [(at: Int, step: Step)],
        due: Int?,
        positions: [(Int, StartPosition)]
    ) {
        var restarts = restarts(after: steps)
        #expect(restarts.nextDeadline == due.map(time), "\(story)")
        let early = restarts.takeDue(now: time((due ?? 1) - 1))
        #expect(early.isEmpty, "\(story)")
        let taken = restarts.takeDue(now: time(due ?? 3_600_000))
        let expected = positions.map { (Self.partitions[$0], $1) }
        #expect(taken == Dictionary(uniqueKeysWithValues: expected), "\(story)")
        let again = restarts.takeDue(now: time(due ?? 3_600_000))
        #expect(again.isEmpty, "\(story)")
    }

    @Test func `after a restart, the assignment does not change for a moment`() {
        var restarts = restarts(after: [(0, .outOfReach(0, .end))])
        #expect(restarts.settledAt <= time(249))
        _ = restarts.takeDue(now: time(300))
        #expect(restarts.settledAt == time(550))
        // The library is still busy in the next assignment.
        restarts.assignmentEnded()
        #expect(restarts.settledAt == time(550))
    }

    @Test(
        arguments: [
            ("no progress", [7, 7, 7, 7, 7, 7, 7, 7, 7], [0, 1, 2, 4, 8, 16, 32, 60, 60]),
            ("a little progress", [7, 7, 7, 8, 8, 8], [0, 1, 2, 0, 1, 2]),
            ("read from another position", [7, 7, nil, 7, 7], [0, 1, 0, 0, 1]),
        ] as [(String, [Int64?], [Int])]
    )
    func `a partition that keeps failing at one offset is restarted with growing delays`(
        story: String,
        places: [Int64?],
        seconds: [Int]
    ) throws {
        var restarts = PartitionRestarts()
        var now = time(0)
        var waits: [Duration] = []
        for place in places {
            let position = place.map { StartPosition.at(Offset($0)) } ?? .beginning
            restarts.failed(Self.partitions[1], readOnFrom: position, now: now)
            let due = try #require(restarts.nextDeadline)
            waits.append(due - now)
            _ = restarts.takeDue(now: due)
            now = due + .seconds(1)
        }
        let expected = seconds.map { $0 == 0 ? Duration.milliseconds(250) : .seconds($0) }
        #expect(waits == expected, "\(story)")
    }

    @Test func `a partition that fails again is stuck until a record comes`() {
        var restarts = restarts(after: [(0, .lostPlace(1, at: 7)), (0, .lostPlace(2, at: 7))])
        #expect(restarts.stuck.isEmpty)
        _ = restarts.takeDue(now: time(250))
        restarts.failed(Self.partitions[1], readOnFrom: .at(Offset(7)), now: time(1000))
        #expect(restarts.stuck == [Self.partitions[1]])
        restarts.recordArrived(Self.partitions[2])
        #expect(restarts.stuck == [Self.partitions[1]])
        restarts.recordArrived(Self.partitions[1])
        #expect(restarts.stuck.isEmpty)
        restarts.failed(Self.partitions[1], readOnFrom: .at(Offset(7)), now: time(2000))
        #expect(restarts.nextDeadline == time(2250), "it made progress in between")
    }

    @Test func `failures are counted per partition and reset by a new assignment`() {
        var restarts = restarts(after: [
            (0, .lostPlace(1, at: 7)), (0, .assignmentEnded), (0, .lostPlace(1, at: 7)),
            (0, .lostPlace(2, at: 7)),
        ])
        let taken = restarts.takeDue(now: time(250))
        #expect(taken.count == 2)
    }
}
