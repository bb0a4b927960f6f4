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

    /// When to warn that a new certificate is needed, but not before the last third of its life:
    /// certificates of a day or an hour are renewed about then.
    package static let warningDays = 30
    private static let dayMilliseconds: Int64 = 86_400_000

    package init(notBefore: Timestamp, notAfter: Timestamp, now: Timestamp) {
        let left = notAfter.milliseconds - now.milliseconds
        if left <= 0 {
            self = .expired
        } else if notBefore > now {
            self = .early
        } else {
            let days = left / Self.dayMilliseconds
            let isInLastThird = left < (notAfter.milliseconds - notBefore.milliseconds) / 3
            self = days < Self.warningDays && isInLastThird ? .near(days: Int(days)) : .distant
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
