import APNsRules
import Testing
import Vocabulary

@Suite struct RetryAfterTests {
    /// 1994-11-06 08:49:00 UTC: `date -u -d '1994-11-06 08:49' +%s`.
    private let now = Timestamp(milliseconds: 784_111_740_000)

    @Test(arguments: [
        ("0", 0), ("120", 120), ("86400", 86400), ("86401", 86400),
        ("99999999999999999999", 86400), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
        ("Sun, 06 Nov 1994 08:48:00 GMT", 0), ("Mon, 07 Nov 1994 08:48:59 GMT", 86399),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 86400), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ])
    func `seconds and dates become delays of at most a day`(value: String, seconds: Int) {
        #expect(RetryAfter.delay(value, now: now) == .seconds(seconds))
    }

    /// `date -u -d '2024-02-29' +%s`, and the days around it.
    @Test(arguments: [
        ("Wed, 28 Feb 2024 23:59:59 GMT", Int64(1_709_164_799)),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
        ("Fri, 01 Mar 2024 00:00:00 GMT", 1_709_251_200),
        ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
    ])
    func `dates follow the Gregorian calendar`(value: String, seconds: Int64) {
        let before = Timestamp(milliseconds: (seconds - 10) * 1000)
        #expect(RetryAfter.delay(value, now: before) == .seconds(10))
    }

    @Test(arguments: [
        "", " ", "-1", "1.5", "soon", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Foo 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 19a4 08:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
    ])
    func `anything else is not a delay`(value: String) {
        #expect(RetryAfter.delay(value, now: now) == nil)
    }
}
