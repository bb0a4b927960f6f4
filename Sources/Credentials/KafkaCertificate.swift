package import Configuration
import Foundation
import HTTP2IO
import KafkaIO
package import Vocabulary

/// A client certificate for Kafka.
///
/// librdkafka reads it when a client is created, and does not report its validity.
package struct KafkaCertificate: Hashable, Sendable {
    /// The property that specifies it, as the operator wrote it.
    package let property: String
    /// Its name in messages.
    fileprivate let name: String
    package let notBefore: Timestamp
    package let notAfter: Timestamp

    /// The certificate's problem or warning now; each text follows the property's name.
    package func verdict(now: Timestamp) -> (problem: String?, warning: String?) {
        switch CertificateExpiry(notBefore: notBefore, notAfter: notAfter, now: now) {
        case .distant: (nil, nil)
        case .near(let days):
            (nil, "\(name) expires in \(days == 1 ? "1 day" : "\(days) days"), at \(notAfter.text)")
        case .expired: ("\(name) expired at \(notAfter.text); renew it", nil)
        case .early: ("\(name) is not valid before \(notBefore.text)", nil)
        }
    }
}

extension Configuration.Kafka {
    /// The clients' current certificates, by property.
    ///
    /// Leaves out unreadable ones, which librdkafka itself reports.
    package func certificates() -> [KafkaCertificate] {
        let usesTLS = properties.contains { key, value in
            KafkaConfiguration.withoutPrefix(key) == "security.protocol"
                && value.lowercased().hasSuffix("ssl")
        }
        guard usesTLS else { return [] }
        return properties.sorted { $0.key < $1.key }.compactMap { property, value in
            guard let facts = facts(of: property, value) else { return nil }
            let isText = KafkaConfiguration.withoutPrefix(property) == "ssl.certificate.pem"
            return KafkaCertificate(
                property: property,
                name: isText ? "the certificate" : value.quoted,
                notBefore: facts.notBefore,
                notAfter: facts.notAfter
            )
        }
    }

    private func facts(of property: String, _ value: String) -> CertificateFacts? {
        let name = KafkaConfiguration.withoutPrefix(property)
        switch name {
        case "ssl.certificate.pem": return try? CertificateFacts(file: Array(value.utf8))
        case "ssl.certificate.location":
            return Self.bytes(value).flatMap { try? CertificateFacts(file: $0) }
        case "ssl.keystore.location":
            let prefix = String(property.dropLast(name.count))
            let key = "ssl.keystore.password"
            let passphrase = properties[prefix + key] ?? properties[key]
            return Self.bytes(value).flatMap {
                try? ClientCertificate(file: $0, passphrase: passphrase).facts
            }
        default: return nil
        }
    }

    private static func bytes(_ path: String) -> [UInt8]? {
        try? BoundedFile.read(path, limit: Configuration.maxKeyFileByteCount)
    }
}

extension Timestamp {
    fileprivate var text: String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).ISO8601Format()
    }
}
