package import Vocabulary

/// How long a certificate is still valid, in the steps that matter to an operator.
package enum CertificateExpiry: Hashable, Sendable {
    /// Longer than anyone needs a warning for.
    case distant
    /// In so many whole days, rounded down.
    case near(days: Int)
    case expired
    /// Its time has not begun.
    case early

    /// When a new certificate had better be made.
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

    /// Why APNs will not take the certificate; nil: it may.
    package var trouble: String? {
        switch self {
        case .distant, .near: nil
        case .expired: "the certificate has expired"
        case .early: "the certificate is not valid yet"
        }
    }
}
