import Testing
import Vocabulary

@Suite struct RecordMarkTests {
    private static func fingerprint(
        at milliseconds: Int64? = 1_760_000_000_000,
        key: String? = "key",
        value: String? = "a value that is longer than the samples are, all four of them"
    ) -> UInt32 {
        Record(
            partition: PartitionID(index: 0),
            offset: Offset(7),
            timestamp: milliseconds.map(Timestamp.init(milliseconds:)),
            key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) }
        ).fingerprint
    }

    /// Commit metadata contains it, and other versions read that.
    @Test func `a record's fingerprint is the same in every version`() {
        #expect(Self.fingerprint() == 2_434_105_427)
        #expect(Self.fingerprint(at: nil, key: nil, value: nil) == 261_131_589)
        #expect(Self.fingerprint(value: "short") == 1_159_223_166)
    }

    @Test func `different records have different fingerprints`() {
        let all = [
            Self.fingerprint(), Self.fingerprint(at: 1_760_000_000_001),
            Self.fingerprint(at: nil), Self.fingerprint(key: nil), Self.fingerprint(key: ""),
            Self.fingerprint(key: "kez"), Self.fingerprint(value: nil),
            Self.fingerprint(value: ""), Self.fingerprint(value: "1234567"),
            Self.fingerprint(value: "12345678"),
            Self.fingerprint(
                value: "B value that is longer than the samples are, all four of them"
            ),
            // The same bytes, but the key is one byte longer.
            Self.fingerprint(key: "ykey", value: "a value that is longer than the samples"),
            Self.fingerprint(key: "key", value: "a value that is longer than the samplesy"),
        ]
        #expect(Set(all).count == all.count)
    }
}
