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
