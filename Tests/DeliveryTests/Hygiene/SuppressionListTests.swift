import Delivery
import Testing
import Vocabulary

@Suite struct SuppressionListTests {
    private static func time(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: milliseconds)
    }

    @Test func `a token is found with its latest time until it is removed`() {
        var list = SuppressionList(maxCount: 10)
        let token = KeyedHash(rawValue: 7)
        #expect(list[token] == nil)
        list.insert(token, since: Self.time(1))
        list.insert(token, since: Self.time(5))
        #expect(list[token] == Self.time(5))
        #expect(list.count == 1)
        let wasThere = [list.remove(token), list.remove(token)]
        #expect(wasThere == [true, false])
        #expect(list[token] == nil)
        #expect(list.count == 0)
    }

    @Test func `a token with another status is not dead, and does not hide a dead one`() {
        var list = SuppressionList(maxCount: 10)
        let (token, other) = (KeyedHash(rawValue: 7), KeyedHash(rawValue: 8))
        list.insert(token, since: SuppressionList.noted)
        #expect(list[token] == SuppressionList.noted)
        #expect(list.deadCount == 0)
        list.insert(token, since: Self.time(5))
        list.insert(token, since: SuppressionList.noted)
        list.insert(other, since: SuppressionList.noted)
        #expect(list[token] == Self.time(5))
        #expect([list.count, list.deadCount] == [2, 1])
        list.insert(token, since: Self.time(6))
        #expect(list.deadCount == 1)
        list.remove(other)
        list.remove(token)
        #expect([list.count, list.deadCount] == [0, 0])
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `the list agrees with a dictionary for any history`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var list = SuppressionList(maxCount: 1000)
        var model: [KeyedHash: Timestamp] = [:]
        // Few home slots, so that runs grow long and wrap around the table's end.
        let tokens = (0..<600).map { index in
            KeyedHash(rawValue: random.next() << 4 | UInt64(13 + index % 3))
        }
        for step in 0..<20_000 {
            let token = tokens[Int.random(in: 0..<tokens.count, using: &random)]
            if Bool.random(using: &random) {
                let time = Self.time(Int64(step))
                list.insert(token, since: time)
                model[token] = time
            } else {
                let wasThere = list.remove(token)
                let expected = model.removeValue(forKey: token) != nil
                #expect(wasThere == expected)
            }
            #expect(list.count == model.count)
        }
        for token in tokens { #expect(list[token] == model[token]) }
        #expect(list.evictions == 0)
    }

    @Test func `a full list drops the oldest tokens, and no more than necessary`() {
        var random = SeededGenerator(seed: 4)
        var list = SuppressionList(maxCount: 1000)
        let tokens = (0..<3000).map { _ in KeyedHash(rawValue: random.next()) }
        for (index, token) in tokens.enumerated() {
            list.insert(token, since: Self.time(Int64(index)))
            #expect(list[token] == Self.time(Int64(index)))
            #expect(list.count == min(index + 1, 1000))
        }
        #expect(list.evictions == 2000)
        let isKept = tokens.map { list[$0] != nil }
        let youngest = isKept.suffix(500).count { $0 }
        let oldest = isKept.prefix(1500).count { $0 }
        #expect(youngest > 400)
        #expect(oldest < 100)
    }

    @Test func `a list of size 0 keeps nothing`() {
        var list = SuppressionList(maxCount: 0)
        list.insert(KeyedHash(rawValue: 1), since: Self.time(1))
        #expect(list.count == 0)
    }

    @Test func `a million tokens take 32 MiB, and never more than 43 bytes each`() {
        #expect(SuppressionList.byteCount(ofTokens: 1_000_000) == 32 << 20)
        for count in stride(from: 1000, through: 5_000_000, by: 4999) {
            let perToken = Double(SuppressionList.byteCount(ofTokens: count)) / Double(count)
            #expect((21.3...42.8).contains(perToken), "\(count)")
        }
        var random = SeededGenerator(seed: 5)
        var list = SuppressionList(maxCount: 100_000)
        for index in 0..<100_000 {
            list.insert(KeyedHash(rawValue: random.next()), since: Self.time(Int64(index)))
        }
        #expect(list.byteCount == SuppressionList.byteCount(ofTokens: 100_000))
    }
}
