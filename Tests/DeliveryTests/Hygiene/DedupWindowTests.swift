import Delivery
import Testing
import Vocabulary

@Suite struct DedupWindowTests {
    private static func name(_ number: Int) -> KeyedHash {
        KeyedHash(rawValue: UInt64(number + 1))
    }

    private static func place(_ offset: Int64, partition: Int = 0) -> DedupWindow.Place {
        DedupWindow.Place(partition: PartitionID(index: partition), offset: Offset(offset))
    }

    private enum Step {
        case arrives(Int64, partition: Int = 0, isDuplicate: Bool)
        case withdrawn(Int64, partition: Int = 0)
    }

    @Test(
        arguments: [
            ("once", [.arrives(1, isDuplicate: false)]),
            (
                "twice",
                [
                    .arrives(1, isDuplicate: false), .arrives(2, isDuplicate: true),
                    .arrives(3, isDuplicate: true),
                ]
            ),
            (
                "the same position again",
                [.arrives(1, isDuplicate: false), .arrives(1, isDuplicate: false)]
            ),
            (
                "the same offset of another partition",
                [
                    .arrives(1, isDuplicate: false),
                    .arrives(1, partition: 1, isDuplicate: true),
                ]
            ),
            (
                "again after a failure",
                [
                    .arrives(1, isDuplicate: false), .withdrawn(1),
                    .arrives(2, isDuplicate: false), .arrives(3, isDuplicate: true),
                ]
            ),
            (
                "a duplicate's end does not end the first one",
                [
                    .arrives(1, isDuplicate: false), .arrives(2, isDuplicate: true),
                    .withdrawn(2), .arrives(3, isDuplicate: true),
                ]
            ),
            (
                "the first one comes back when another was sent in its place",
                [
                    .arrives(1, isDuplicate: false), .withdrawn(1),
                    .arrives(2, partition: 1, isDuplicate: false),
                    .arrives(1, isDuplicate: true),
                ]
            ),
        ] as [(String, [Step])]
    )
    private func `a duplicate comes from another position and was not withdrawn`(
        story: String,
        steps: [Step]
    ) {
        var window = DedupWindow(size: 10)
        for step in steps {
            switch step {
            case .arrives(let offset, let partition, let isDuplicate):
                let place = Self.place(offset, partition: partition)
                let answer = window.arrived(Self.name(0), from: place)
                #expect(answer == isDuplicate, "\(story)")
            case .withdrawn(let offset, let partition):
                window.withdraw(Self.name(0), from: Self.place(offset, partition: partition))
            }
        }
    }

    @Test func `the window keeps at least its size of entries, and at most twice as many`() {
        var window = DedupWindow(size: 100)
        for number in 0..<1000 {
            let isDuplicate = window.arrived(Self.name(number), from: Self.place(Int64(number)))
            #expect(!isDuplicate)
            #expect(window.count <= 200)
        }
        for number in 900..<1000 {
            let isDuplicate = window.arrived(Self.name(number), from: Self.place(5000))
            #expect(isDuplicate, "\(number)")
        }
        let isFirstKnown = window.arrived(Self.name(0), from: Self.place(6000))
        #expect(!isFirstKnown)
    }

    @Test func `an entry that is looked up is kept longer`() {
        var window = DedupWindow(size: 10)
        _ = window.arrived(Self.name(0), from: Self.place(0))
        for number in 1..<200 {
            _ = window.arrived(Self.name(number), from: Self.place(Int64(number)))
            let isDuplicate = window.arrived(Self.name(0), from: Self.place(Int64(1000 + number)))
            #expect(isDuplicate)
        }
    }

    @Test func `removal removes an entry from both generations`() {
        var window = DedupWindow(size: 2)
        _ = window.arrived(Self.name(0), from: Self.place(0))
        for number in 1..<3 {
            _ = window.arrived(Self.name(number), from: Self.place(Int64(number)))
        }
        // A lookup copies it from the old generation into the new one.
        let isItself = !window.arrived(Self.name(0), from: Self.place(0))
        window.withdraw(Self.name(0), from: Self.place(0))
        let isForgotten = !window.arrived(Self.name(0), from: Self.place(9))
        #expect(isItself && isForgotten)
    }

    @Test func `a window of size 0 finds no duplicates`() {
        var window = DedupWindow(size: 0)
        for offset in Int64(0)..<2 {
            let isDuplicate = window.arrived(Self.name(0), from: Self.place(offset))
            #expect(!isDuplicate)
        }
        #expect(window.count == 0)
    }
}
