import Testing
import Tools
import Vocabulary

@Suite struct CommandTimeTests {
    /// The current time: 2026-01-31 08:00 UTC.
    private static let now = Timestamp(milliseconds: 1_769_846_400_000)

    @Test(arguments: [
        ("2026-01-31T08:00:00Z", 1_769_846_400_000),
        ("2026-01-31T09:00:00.001+01:00", 1_769_846_400_001),
        ("0s", 1_769_846_400_000), ("15m", 1_769_845_500_000), ("24h", 1_769_760_000_000),
        ("900000h", 0),
    ])
    func `a time is absolute, or a duration before now`(text: String, milliseconds: Int64) {
        #expect(Timestamp(commandLine: text, now: Self.now)?.milliseconds == milliseconds)
    }

    @Test(arguments: ["", "yesterday", "15", "-15m", "1.5h", "2026-01-31", "15m ago"])
    func `anything else is refused`(text: String) {
        #expect(Timestamp(commandLine: text, now: Self.now) == nil)
    }

    @Test(arguments: [
        ("2026-01-31T08:00:00.001Z", 1_769_846_401_000), ("1s", 1_769_846_401_000),
        ("2026-01-31T10:00:00+01:00", 1_769_850_000_000), ("15m", 1_769_847_300_000),
        ("1ms", 1_769_846_401_000), ("2106-02-07T06:28:15Z", 4_294_967_295_000),
    ])
    func `a time to come is absolute, or a duration from now`(text: String, milliseconds: Int64) {
        #expect(
            Timestamp(commandLineAhead: text, now: Self.now)?.milliseconds == milliseconds
        )
    }

    @Test(arguments: [
        "", "tomorrow", "0s", "2026-01-31T08:00:00Z", "2025-01-31T08:00:00Z",
        "2106-02-07T06:28:16Z", "2500000000h",
    ])
    func `a time that has come is refused`(text: String) {
        #expect(Timestamp(commandLineAhead: text, now: Self.now) == nil)
    }
}
