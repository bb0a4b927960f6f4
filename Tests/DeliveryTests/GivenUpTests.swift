import APNsRules
import Delivery
import Testing
import Vocabulary

/// The events that count as given up: ended through no fault of their own.
@Suite struct GivenUpTests {
    @Test(arguments: [
        (200, APNsReason?.none, OutcomeKind.accepted, isGivenUp: false),
        (400, .badDeviceToken, .rejected, false), (400, .badTopic, .rejected, false),
        (410, .unregistered, .unregistered, false), (413, .payloadTooLarge, .rejected, false),
        // The key may not send for the app, so the event itself is valid.
        (400, .topicDisallowed, .rejected, true),
        (403, .invalidProviderToken, .undeliverable, true),
        (503, .serviceUnavailable, .undeliverable, true),
        (429, .tooManyRequests, .undeliverable, true), (500, nil, .undeliverable, true),
    ])
    func `an answer shows whose fault it is`(
        status: Int,
        reason: APNsReason?,
        kind: OutcomeKind,
        isGivenUp: Bool
    ) throws {
        var bench = try BulkheadBench { $0.retry = RetryPolicy(attempts: 1) }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", status, reason)
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == kind)
        #expect(bench.givenUp == (isGivenUp ? ["1"] : []))
    }

    @Test(arguments: [
        (secondsLeft: 0 as Int64, isGivenUp: false), (-5, false), (1, true), (60, true),
    ])
    func `an event that arrives too late is not given up, one that waits too long is`(
        secondsLeft: Int64,
        isGivenUp: Bool
    ) throws {
        var bench = try BulkheadBench(streams: 1)
        try bench.arrive("busy")
        bench.turn()
        let expiration = bench.now.timestamp.seconds + secondsLeft
        try bench.arrive("1") { $0.expiration = expiration }
        bench.turn(after: .seconds(61))
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .expired)
        #expect(bench.givenUp.contains("1") == isGivenUp)
    }

    @Test func `an event replaced by a newer one is not given up`() throws {
        var bench = try BulkheadBench()
        func score(_ event: inout Event) { event.collapseID = CollapseID("score") }
        for name in ["1", "2"] { try bench.arrive(name, token: "aa", score) }
        bench.turn()
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        bench.turn()
        #expect(bench.reasons["1"] == .local(.superseded))
        #expect(bench.givenUp.isEmpty)
    }
}
