import Delivery
import Service
import Testing
import Vocabulary

/// The time from which a token is dead, according to a record of the token-status topic.
@Suite struct TokenStatusRecordTests {
    /// 2026-11-25T22:00:00Z.
    private static let observed: Int64 = 1_795_644_000_000
    private static let written: Int64 = observed + 5
    private static let day: Int64 = 24 * 60 * 60 * 1000

    @Test(
        arguments: [
            (1_754_006_400_000, true, 1_754_006_400_000),
            // A token cannot be dead from tomorrow.
            (observed + 1, true, observed), (observed + day, true, observed),
            // Seconds, microseconds and other units do not count as a time.
            (0, true, observed), (-5, true, observed), (1_754_006_400, true, observed),
            (1_754_006_400_000_000, true, observed), (observed + day + 1, true, observed),
            (.max, true, observed), (.min, true, observed),
            (nil, true, observed), (1, false, written), (.max, false, written), (nil, false, nil),
        ] as [(Int64?, Bool, Int64?)]
    )
    func `a token is dead from the given time, but no later than it was observed`(
        time: Int64?,
        isObserved: Bool,
        since: Int64?
    ) {
        let observed = isObserved ? "2026-11-25T22:00:00.000Z" : nil
        let word = since.map {
            TokenStatusRecord.Word.unregistered(since: Timestamp(milliseconds: $0))
        }
        #expect(Self.record(time, observed: observed, written: Self.written)?.word == word)
    }

    /// Written by a clock that is far ahead, or without a time.
    @Test(
        arguments: [
            (.max, "9999-12-31T23:59:59.000Z", written), (nil, "9999-12-31T23:59:59.000Z", written),
            (observed + day, nil, .max), (.max, nil, nil), (observed, nil, nil),
        ] as [(Int64?, String?, Int64?)]
    )
    func `a token is dead no later than the record is read`(
        time: Int64?,
        observed: String?,
        written: Int64?
    ) {
        let now = Self.now.milliseconds
        let word = TokenStatusRecord.Word.unregistered(
            since: Timestamp(milliseconds: time == Self.observed ? Self.observed : now)
        )
        #expect(Self.record(time, observed: observed, written: written)?.word == word)
    }

    private static let now = Timestamp(milliseconds: observed + 60_000)

    private static func record(
        _ time: Int64?,
        observed: String?,
        written: Int64?
    ) -> TokenStatusRecord? {
        let value = """
            {"status":"unregistered","token_action":"remove","reason":"Unregistered",\
            "unregistered_at":\(time.map { "\($0)" } ?? "null")\
            \(observed.map { #","observed_at":"\#($0)""# } ?? "")}
            """
        return TokenStatusRecord(
            Record(
                partition: PartitionID(index: 0),
                offset: Offset(0),
                timestamp: written.map(Timestamp.init(milliseconds:)),
                key: Array("com.example.App|production|abcdef01".utf8),
                value: Array(value.utf8)
            ),
            hashKey: HashKey(low: 1, high: 2),
            now: now
        )
    }
}
