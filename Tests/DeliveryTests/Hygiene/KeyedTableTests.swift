import Delivery
import Testing
import Vocabulary

/// Compares the table of the deduplication window and of device queues with a dictionary.
@Suite struct KeyedTableTests {
    private static let allKeys = [
        // Few home slots, so that runs of taken slots grow long and are closed again.
        Keys(testDescription: "crowded", count: 60) { number in
            KeyedHash(rawValue: UInt64(number) << 40 | UInt64(number % 5) << 3 | 1)
        },
        Keys(testDescription: "spread", count: 900) { number in
            var generator = SeededGenerator(seed: UInt64(number))
            return KeyedHash(rawValue: generator.next())
        },
    ]

    @Test(arguments: allKeys)
    private func `device queues behave like a dictionary`(keys: Keys) {
        var random = SeededGenerator(seed: 7)
        // Far fewer than inserted: segments grow beyond their initial size.
        var pacing = DevicePacing(maxEvents: 10)
        var lines: [KeyedHash: [DeliveryID]] = [:]
        for step in 0..<UInt32(6_000) {
            let device = keys.make(Int.random(in: 0..<keys.count, using: &random))
            if let first = lines[device]?.first, Bool.random(using: &random) {
                let next = pacing.left(first, device)?.next
                lines[device]?.removeFirst()
                #expect(next == lines[device]?.first)
                if lines[device]?.isEmpty == true { lines[device] = nil }
            } else {
                let id = DeliveryID(slot: step, generation: 1)
                let isFirst = pacing.joined(id, device)
                #expect(isFirst == (lines[device] == nil))
                lines[device, default: []].append(id)
            }
            #expect(pacing.deviceCount == lines.count)
        }
        for number in 0..<keys.count {
            let device = keys.make(number)
            #expect(pacing.line(of: device) == (lines[device] ?? []).reversed())
        }
    }

    @Test func `a large window grows while moving only small parts`() {
        var random = SeededGenerator(seed: 3)
        var window = DedupWindow(size: 20_000)
        for offset in 0..<Int64(90_000) {
            let place = DedupWindow.Place(partition: PartitionID(index: 0), offset: Offset(offset))
            _ = window.arrived(KeyedHash(rawValue: random.next()), from: place)
        }
        #expect(window.count >= 20_000)
        #expect(window.largestMove < 1_000)
    }

    @Test(arguments: allKeys)
    private func `a window behaves like two generations of a dictionary`(keys: Keys) {
        typealias Place = DedupWindow.Place
        let size = keys.count / 3
        var random = SeededGenerator(seed: 11)
        var window = DedupWindow(size: size)
        var (young, old): ([KeyedHash: Place], [KeyedHash: Place]) = ([:], [:])
        for step in 0..<Int64(6_000) {
            let key = keys.make(Int.random(in: 0..<keys.count, using: &random))
            let known = young[key] ?? old[key]
            if let known, Int.random(in: 0..<4, using: &random) == 0 {
                window.withdraw(key, from: known)
                young[key] = nil
                old[key] = nil
                continue
            }
            let place = Place(partition: PartitionID(index: 3), offset: Offset(step))
            let isDuplicate = window.arrived(key, from: place)
            #expect(isDuplicate == (known != nil))
            guard young[key] == nil else { continue }
            if young.count == size { (young, old) = ([:], young) }
            young[key] = known ?? place
            old[key] = nil
        }
        #expect(window.count == young.count + old.count)
    }
}

private struct Keys: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let count: Int
    let make: @Sendable (Int) -> KeyedHash
}
