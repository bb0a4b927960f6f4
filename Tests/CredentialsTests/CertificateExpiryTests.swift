import Credentials
import Testing
import Vocabulary

@Suite struct CertificateExpiryTests {
    private static let day: Int64 = 86_400_000

    @Test(
        arguments: [
            (0, .distant), (100 - 30, .distant), (100 - 29, .near(days: 29)),
            (99, .near(days: 1)), (100, .expired), (101, .expired),
        ] as [(Int64, CertificateExpiry)]
    )
    func `a certificate is reported thirty days before it expires`(
        today: Int64,
        expected: CertificateExpiry
    ) {
        let expiry = CertificateExpiry(
            notBefore: Timestamp(milliseconds: 0),
            notAfter: Timestamp(milliseconds: 100 * Self.day),
            now: Timestamp(milliseconds: today * Self.day)
        )
        #expect(expiry == expected)
        #expect((expiry.trouble != nil) == (expected == .expired))
    }

    @Test(
        arguments: [(15, .distant), (16, .distant), (17, .near(days: 0)), (24, .expired)]
            as [(Int64, CertificateExpiry)]
    )
    func `a certificate for one day is reported in its last third`(
        hour: Int64,
        expected: CertificateExpiry
    ) {
        let expiry = CertificateExpiry(
            notBefore: Timestamp(milliseconds: 0),
            notAfter: Timestamp(milliseconds: Self.day),
            now: Timestamp(milliseconds: hour * Self.day / 24)
        )
        #expect(expiry == expected)
    }

    @Test func `a certificate that is not yet valid is unusable`() {
        let expiry = CertificateExpiry(
            notBefore: Timestamp(milliseconds: 5),
            notAfter: Timestamp(milliseconds: 100 * Self.day),
            now: Timestamp(milliseconds: 4)
        )
        #expect(expiry == .early)
        #expect(expiry.trouble != nil)
    }
}
