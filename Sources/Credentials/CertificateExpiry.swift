package import Vocabulary

/// How long a certificate is still valid, in the steps that matter to operators.
package enum CertificateExpiry: Hashable, Sendable {
    /// Too far away to warn about.
    case distant
    /// In this many whole days, rounded down.
    case near(days: Int)
    case expired
    /// Its validity has not started yet.
    case early

    /// When to warn that a new certificate is needed.
    package static let warningDays = 30
    private static let dayMilliseconds: Int64 = 86_400_000

    package init(notBefore: Timestamp, notAfter: Timestamp, now: Timestamp) {
        let days = (notAfter.milliseconds - now.milliseconds) / Self.dayMilliseconds
        if notAfter <= now {
            self = .expired
        } else if notBefore > now {
            self = .early
        } else {
            self = days < Self.warningDays ? .near(days: Int(days)) : .distant
        }
    }

    /// Why APNs will reject the certificate; nil: it is valid.
    package var trouble: String? {
        switch self {
        case .distant, .near: nil
        case .expired: "the certificate has expired"
        case .early: "the certificate is not valid yet"
        }
    }
}
