import ConnectionPool
import Testing
import Vocabulary

/// A candidate as "6" or "4", with the number of its connections, "6x2", and "!" if it failed.
private func candidates(_ text: String) -> [AddressRace.Candidate] {
    text.split(separator: " ").map { word in
        let hasFailed = word.hasSuffix("!")
        let parts = word.prefix { $0 != "!" }.split(separator: "x")
        return AddressRace.Candidate(
            isIPv6: parts[0] == "6",
            uses: parts.count > 1 ? Int(parts[1]) ?? 0 : 0,
            hasFailed: hasFailed
        )
    }
}

@Suite struct AddressRaceTests {
    private let start = Instant(nanoseconds: 0)

    @Test(arguments: [
        ("", []),
        ("4", [0]),
        ("6 6 4 4", [0, 2, 1, 3]),
        ("4 4 6 6", [0, 2, 1, 3]),
        ("6 4 4 4", [0, 1, 2, 3]),
        ("6 6 6 4", [0, 3, 1, 2]),
        // A server that has a connection comes after those without one.
        ("4x1 4 4", [1, 2, 0]),
        ("4x3 4x1 4x2", [1, 2, 0]),
        ("6x1 6 4x1 4", [1, 3, 0, 2]),
        // The preferred family comes first in each group.
        ("6x1 4 4", [1, 2, 0]),
        // A server whose handshake failed comes last, whatever its connections.
        ("4! 4x2 4x1", [2, 1, 0]),
        ("6x1! 4! 4!", [1, 2, 0]),
        ("4! 6 4x1 6!", [1, 2, 0, 3]),
    ])
    func `addresses without a connection come first, and families alternate`(
        text: String,
        order: [Int]
    ) {
        var race = AddressRace(candidates(text))
        var tried: [Int] = []
        while let index = race.next(now: start) {
            tried.append(index)
            race.attemptFailed()
        }
        #expect(tried == order)
        #expect(race.isLost)
    }

    @Test func `an address that swallows packets delays the next one by half a second`() {
        var race = AddressRace(candidates("6 4"))
        #expect(race.next(now: start) == 0)
        #expect(race.next(now: start) == nil)
        #expect(race.nextAttemptAt(now: start) == start + .milliseconds(500))
        #expect(race.next(now: start + .milliseconds(499)) == nil)
        #expect(race.next(now: start + .milliseconds(500)) == 1)
        #expect(race.nextAttemptAt(now: start + .milliseconds(500)) == nil)
    }

    @Test func `after a refusing address the next one is tried at once`() {
        var race = AddressRace(candidates("6 4"))
        #expect(race.next(now: start) == 0)
        race.attemptFailed()
        #expect(race.nextAttemptAt(now: start) == start)
        #expect(race.next(now: start) == 1)
    }

    @Test func `the race is lost once the last attempt has failed`() {
        var race = AddressRace(candidates("4 4"))
        _ = race.next(now: start)
        _ = race.next(now: start + .seconds(1))
        race.attemptFailed()
        #expect(!race.isLost)
        race.attemptFailed()
        #expect(race.isLost)
    }

    @Test func `a winner ends the race, unless its handshake fails`() {
        var race = AddressRace(candidates("6 4 4"))
        #expect(race.next(now: start) == 0)
        race.won()
        #expect(race.nextAttemptAt(now: start + .seconds(1)) == nil)
        #expect(race.next(now: start + .seconds(1)) == nil)
        race.winnerFailed()
        #expect(!race.isLost)
        #expect(race.next(now: start + .seconds(1)) == 1)
        race.won()
        #expect(race.next(now: start + .seconds(2)) == nil)
    }

    @Test(arguments: [1, 2, 3, 4, 8])
    func `the race is lost after three failed handshakes`(addresses: Int) {
        var race = AddressRace(
            candidates(Array(repeating: "4", count: addresses).joined(separator: " "))
        )
        var failures = 0
        while race.next(now: start) != nil {
            race.won()
            race.winnerFailed()
            failures += 1
        }
        #expect(failures == min(addresses, AddressRace.maxFailedHandshakes))
        #expect(race.isLost)
    }

    @Test func `failing an attempt that was never started traps`() async {
        await #expect(processExitsWith: .failure) {
            var race = AddressRace([])
            race.attemptFailed()
        }
    }
}
