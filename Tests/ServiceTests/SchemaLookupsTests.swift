import EventCodec
import Foundation
import JSONSchema
import Service
import Synchronization
import Testing
import Vocabulary

/// Which schemas are requested from the registry, and which requesters get the result.
@Suite struct SchemaLookupsTests {
    private typealias Lookups = SchemaLookups<String>

    private static func time(_ seconds: Double) -> Instant {
        Instant(nanoseconds: Int64(seconds * 1_000_000_000))
    }

    private static func schema(_ text: String = "{}") throws -> RegisteredSchema {
        .usable(try Schema(text: Array(text.utf8)))
    }

    private func text(_ schema: RegisteredSchema?) -> String {
        switch schema {
        case .usable?: "usable"
        case .unknown?: "unknown"
        case .unusable(let cause)?: cause
        case nil: "not now"
        }
    }

    /// The answer to a requester, given at once or later.
    private func ask(_ lookups: inout Lookups, _ number: UInt32, now: Double = 0) -> String {
        switch lookups.ask(.id(number), "a\(number)", now: Self.time(now)) {
        case .now(let schema): text(schema)
        case .later: "later"
        }
    }

    private func next(_ lookups: inout Lookups, now: Double = 0) -> String {
        switch lookups.next(now: Self.time(now)) {
        case .fetch(let schema): "fetch \(schema.name)"
        case .refuse(let schema, let askers): "refuse \(schema.name) to \(askers.joined())"
        case nil: "nothing"
        }
    }

    @Test(
        arguments: [
            (0, "later"), (1, "later"), (2_147_483_647, "later"), (2_147_483_648, "unknown"),
            (4_294_967_295, "unknown"),
        ] as [(UInt32, String)]
    )
    func `a number that no registry gives is not asked for`(number: UInt32, expected: String) {
        var lookups = Lookups()
        #expect(ask(&lookups, number) == expected)
        #expect(next(&lookups) == (expected == "later" ? "fetch \(number)" : "nothing"))
    }

    @Test func `a schema is fetched once for all requesters`() throws {
        var lookups = Lookups()
        for asker in ["a", "b"] { _ = lookups.ask(.id(7), asker, now: Self.time(0)) }
        #expect(next(&lookups) == "fetch 7")
        // It is being fetched.
        _ = lookups.ask(.id(7), "c", now: Self.time(1))
        #expect(next(&lookups) == "nothing")
        let askers = lookups.ended(.id(7), try Self.schema(), now: Self.time(2))
        #expect(askers == ["a", "b", "c"])
        #expect(ask(&lookups, 7, now: 1_000_000) == "usable")
    }

    @Test func `an unusable schema does not affect others`() throws {
        var lookups = Lookups()
        for number in 1...3 as ClosedRange<UInt32> { #expect(ask(&lookups, number) == "later") }
        #expect(next(&lookups) == "fetch 1")
        let askers = lookups.ended(.id(1), nil, now: Self.time(0))
        #expect(askers == ["a1"])
        #expect(next(&lookups) == "fetch 2")
        #expect(next(&lookups) == "fetch 3")
    }

    @Test func `an unreachable registry is tried once for all waiting schemas`() {
        var lookups = Lookups()
        for number in 1...3 as ClosedRange<UInt32> { _ = ask(&lookups, number) }
        #expect(next(&lookups) == "fetch 1")
        _ = ask(&lookups, 4)
        let failed = lookups.registryFailed(.id(1))
        #expect(failed.map(\.schema) == [.id(1), .id(2), .id(3), .id(4)])
        #expect(failed.flatMap(\.askers) == ["a1", "a2", "a3", "a4"])
        #expect(next(&lookups) == "nothing")
        #expect(ask(&lookups, 2) == "later")
        #expect(next(&lookups) == "fetch 2")
    }

    @Test func `the rate of failed lookups is limited`() throws {
        var lookups = Lookups()
        for number in 1...250 as ClosedRange<UInt32> { _ = ask(&lookups, number) }
        for number in 1...200 as ClosedRange<UInt32> {
            #expect(next(&lookups) == "fetch \(number)")
            _ = lookups.ended(.id(number), .unknown, now: Self.time(0))
        }
        #expect(next(&lookups) == "refuse 201 to a201")
        #expect(next(&lookups, now: 0.04) == "refuse 202 to a202")
        #expect(next(&lookups, now: 0.06) == "fetch 203")
        // Successful lookups do not count.
        _ = lookups.ended(.id(203), try Self.schema(), now: Self.time(0.06))
        #expect(next(&lookups, now: 0.06) == "fetch 204")
        _ = lookups.ended(.id(204), nil, now: Self.time(0.06))
        #expect(next(&lookups, now: 0.06) == "refuse 205 to a205")
        #expect(ask(&lookups, 1, now: 0.06) == "unknown")
        #expect(ask(&lookups, 203, now: 0.06) == "usable")
    }

    @Test(arguments: [
        ("unknown", 14, "unknown"), ("unknown", 16, "later"), ("bad", 599, "bad"),
        ("bad", 601, "later"),
    ])
    func `an unusable schema is requested again after a while`(
        verdict: String,
        seconds: Double,
        expected: String
    ) {
        var lookups = Lookups()
        let result: RegisteredSchema = verdict == "unknown" ? .unknown : .unusable(verdict)
        _ = lookups.ended(.id(1), result, now: Self.time(0))
        #expect(ask(&lookups, 1, now: seconds) == expected)
    }

    @Test func `the schema cache has a size limit in bytes`() throws {
        let program = try Schema(text: Array(#"{"pattern":"(a|b)c"}"#.utf8))
        var lookups = Lookups(maxByteCount: 3 * program.byteCount)
        for number in 1...3 as ClosedRange<UInt32> {
            _ = lookups.ended(.id(number), .usable(program), now: Self.time(0))
        }
        #expect(lookups.usableCount == 3)
        _ = lookups.ended(.id(4), .usable(program), now: Self.time(0))
        #expect(lookups.usableCount == 1)
        #expect(ask(&lookups, 4) == "usable")
        #expect(ask(&lookups, 1) == "later")
    }

    /// The first job ends only after the second one.
    @Test(.timeLimit(.minutes(10)))
    func `a schema that is slow to compile does not delay others`() async {
        let threads = CompilerThreads(count: 2, named: "test")
        defer { threads.stop() }
        let isOtherDone = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            threads.add {
                isOtherDone.wait()
                continuation.resume()
            }
            threads.add { isOtherDone.signal() }
        }
    }
}
