import Delivery
import Service
import Testing
import Vocabulary

/// Keys of the token-status topic that spell a token differently are one device.
@Suite struct TokenStatusKeysTests {
    private static let hashKey = HashKey(low: 1, high: 2)
    private static let lower = "abcdef01"
    private static let upper = "ABCDEF01"
    private static let mixed = "AbCdEf01"

    private enum Said { case dead, alive }

    private struct Line {
        let token: String
        let said: Said
        let second: Int

        init(_ token: String, _ said: Said, at second: Int) {
            self.token = token
            self.said = said
            self.second = second
        }

        /// The time of a tombstone is the record's; a value contains its time.
        var record: TokenStatusRecord {
            let time = Timestamp(milliseconds: Int64(second) * 1000)
            let value = """
                {"status": "unregistered", "token_action": "remove", "reason": "Unregistered", \
                "unregistered_at": null, "observed_at": "1970-01-01T00:00:0\(second).000Z"}
                """
            let record = TokenStatusRecord(
                Record(
                    partition: PartitionID(index: 0),
                    offset: Offset(0),
                    timestamp: said == .alive ? time : Timestamp(milliseconds: 0),
                    key: Array("com.example.App|production|\(token)".utf8),
                    value: said == .alive ? nil : Array(value.utf8)
                ),
                hashKey: TokenStatusKeysTests.hashKey,
                now: Timestamp(milliseconds: 10_000)
            )
            guard let record else { preconditionFailure("a record of the topic") }
            return record
        }
    }

    /// Reads like the reader does: to the end, and again on request.
    private static func read(_ lines: [Line]) -> (isDead: Bool, outdated: Set<String>, Int) {
        var keys = TokenStatusKeys()
        var isDead = false
        var readings = 0
        repeat {
            for line in lines where keys.isNewest(line.record) { isDead = line.said == .dead }
            readings += 1
        } while keys.reachedEnd()
        return (isDead, tokens(keys.takeOutdated()), readings)
    }

    private static func tokens(_ keys: [[UInt8]]) -> Set<String> {
        Set(keys.map { String(decoding: $0.suffix(8), as: UTF8.self) })
    }

    /// Every order of the lines that keeps the order within each key, as partitions do.
    private static func orders(_ lines: [Line]) -> [[Line]] {
        guard !lines.isEmpty else { return [[]] }
        return lines.indices
            .filter { index in !lines[..<index].contains { $0.token == lines[index].token } }
            .flatMap { index in
                var rest = lines
                let first = rest.remove(at: index)
                return orders(rest).map { [first] + $0 }
            }
    }

    @Test(
        arguments: [
            ([Line(upper, .dead, at: 1), Line(lower, .alive, at: 2)], false, [upper]),
            ([Line(lower, .dead, at: 1), Line(upper, .alive, at: 2)], false, [lower]),
            ([Line(upper, .dead, at: 2), Line(lower, .alive, at: 1)], true, []),
            ([Line(upper, .dead, at: 1), Line(lower, .dead, at: 2)], true, []),
            (
                [Line(upper, .dead, at: 1), Line(mixed, .dead, at: 2), Line(lower, .alive, at: 3)],
                false, [upper, mixed]
            ),
            (
                [Line(upper, .dead, at: 1), Line(lower, .alive, at: 2), Line(lower, .dead, at: 3)],
                true, []
            ),
            // A revoked status is not revoked again.
            (
                [
                    Line(upper, .dead, at: 1), Line(lower, .alive, at: 2),
                    Line(upper, .alive, at: 3),
                ],
                false, []
            ),
        ] as [([Line], Bool, Set<String>)]
    )
    private func `the newest status counts regardless of reading order`(
        lines: [Line],
        isDead: Bool,
        outdated: Set<String>
    ) {
        for order in Self.orders(lines) {
            let told = Self.read(order)
            #expect(told.isDead == isDead, "\(order)")
            #expect(told.outdated == outdated, "\(order)")
        }
    }

    @Test func `a topic with only lower-case keys is read once`() {
        let told = Self.read([Line(Self.lower, .dead, at: 1), Line(Self.lower, .alive, at: 0)])
        // Within one key the offset decides, not the writer's clock.
        #expect(told == (false, [], 1))
    }

    @Test func `a later tombstone revokes every spelling`() {
        var keys = TokenStatusKeys()
        let dead = Line(Self.upper, .dead, at: 1).record
        repeat { _ = keys.isNewest(dead) } while keys.reachedEnd()
        let steps = [Line(Self.lower, .alive, at: 2), Line(Self.upper, .alive, at: 3)]
        let outdated = steps.map { step in
            _ = keys.isNewest(step.record)
            return Self.tokens(keys.takeOutdated())
        }
        #expect(outdated == [[Self.upper], []])
    }

    @Test func `a member of version 0.1 may continue to write in upper case`() {
        var keys = TokenStatusKeys()
        let isReadAgain = keys.reachedEnd()
        #expect(!isReadAgain)
        let steps = [Line(Self.lower, .dead, at: 1), Line(Self.upper, .alive, at: 2)]
        let areNewest = steps.map { keys.isNewest($0.record) }
        #expect(areNewest == [true, true])
        let outdated = Self.tokens(keys.takeOutdated())
        #expect(outdated == [Self.lower])
    }

    @Test func `the number of devices in memory is limited`() {
        var keys = TokenStatusKeys(maxDevices: 1)
        for token in ["AA", "AB", "AA"] { _ = keys.isNewest(Line(token, .dead, at: 1).record) }
        #expect(keys.passedOver == 1)
    }
}
