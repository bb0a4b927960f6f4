import Delivery
import Service
import Testing
import Vocabulary

/// Since when a token is dead, by a record of the token-status topic.
@Suite struct TokenStatusRecordTests {
    /// 2026-11-25T22:00:00Z.
    private static let observed: Int64 = 1_795_644_000_000
    private static let written: Int64 = observed + 5
    private static let day: Int64 = 24 * 60 * 60 * 1000

    @Test(
        arguments: [
            (1_754_006_400_000, true, 1_754_006_400_000), (observed + day, true, observed + day),
            // Seconds, microseconds and the like count as no time.
            (0, true, observed), (-5, true, observed), (1_754_006_400, true, observed),
            (1_754_006_400_000_000, true, observed), (observed + day + 1, true, observed),
            (nil, true, observed), (1, false, written), (nil, false, nil),
        ] as [(Int64?, Bool, Int64?)]
    )
    func `a time that is none counts as absent`(time: Int64?, isObserved: Bool, since: Int64?) {
        let value = """
            {"status":"unregistered","token_action":"remove","reason":"Unregistered",\
            "unregistered_at":\(time.map { "\($0)" } ?? "null")\
            \(isObserved ? #","observed_at":"2026-11-25T22:00:00.000Z""# : "")}
            """
        let record = TokenStatusRecord(
            Record(
                partition: PartitionID(index: 0),
                offset: Offset(0),
                timestamp: Timestamp(milliseconds: Self.written),
                key: Array("com.example.App|production|abcdef01".utf8),
                value: Array(value.utf8)
            ),
            hashKey: HashKey(low: 1, high: 2)
        )
        let word = since.map {
            TokenStatusRecord.Word.unregistered(since: Timestamp(milliseconds: $0))
        }
        #expect(record?.word == word)
    }
}
