import EventCodec
import Testing
import Vocabulary

@Suite struct DeliveryTimesTests {
    private static let received = Moment(
        instant: Instant(nanoseconds: 5_000_000_000),
        timestamp: Timestamp(milliseconds: 1_767_225_600_123)
    )

    private static func after(_ duration: Duration?) -> Instant? {
        duration.map { received.instant + $0 }
    }

    @Test(
        arguments: [
            (nil, nil, ["received-us": "1767225600123000"]),
            (
                .microseconds(1500), nil,
                ["received-us": "1767225600123000", "sent-us": "1767225600124500"]
            ),
            (
                .microseconds(1500), .milliseconds(40),
                [
                    "received-us": "1767225600123000", "sent-us": "1767225600124500",
                    "answered-us": "1767225600163000",
                ]
            ),
            // An answer may come in the same instant.
            (
                .zero, .zero,
                [
                    "received-us": "1767225600123000", "sent-us": "1767225600123000",
                    "answered-us": "1767225600123000",
                ]
            ),
            // The last attempt was not answered; the answer belongs to an earlier attempt.
            (
                .milliseconds(41), .milliseconds(40),
                ["received-us": "1767225600123000", "sent-us": "1767225600164000"]
            ),
        ] as [(Duration?, Duration?, [String: String])]
    )
    func `times are in microseconds, and only steps that happened have one`(
        sent: Duration?,
        answered: Duration?,
        expected: [String: String]
    ) {
        let times = DeliveryTimes(
            receivedAt: Self.received,
            sentAt: Self.after(sent),
            answeredAt: Self.after(answered)
        )
        let found = times.headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) }
        #expect(Dictionary(uniqueKeysWithValues: found) == expected)
    }

    @Test func `the wall clock is read once, so a jump cannot make a duration negative`() {
        let times = DeliveryTimes(
            receivedAt: Moment(
                instant: Instant(nanoseconds: 0),
                timestamp: Timestamp(milliseconds: 10)
            ),
            sentAt: Instant(nanoseconds: 999),
            answeredAt: Instant(nanoseconds: 1_000)
        )
        #expect(
            times.headers.map { $0.value } == ["10000", "10000", "10001"].map { Array($0.utf8) }
        )
    }
}
