import Configuration
import Foundation
import HTTP2IO
import Log
import SystemIO
package import Vocabulary

extension CredentialMaterial {
    /// Reads the files of all credentials; reports every problem with its configuration key.
    static func all(
        _ credentials: [Configuration.Credential],
        _ files: [WatchedFiles]
    ) throws(ServiceError) -> [CredentialMaterial] {
        var lines: [String] = []
        var materials: [CredentialMaterial] = []
        for (index, (credential, files)) in zip(credentials, files).enumerated() {
            do throws(CredentialMaterialError) {
                materials.append(try CredentialMaterial(credential, files))
            } catch {
                lines.append("apns.credentials.\(index).\(error.text)")
            }
        }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
        return materials
    }

    /// Nil if the credential is not a certificate.
    func expiry(now: Timestamp) -> CertificateExpiry? {
        certificate.map { certificate in
            CertificateExpiry(
                notBefore: certificate.facts.notBefore,
                notAfter: certificate.facts.notAfter,
                now: now
            )
        }
    }

    /// Rejects files that the running service cannot adopt.
    ///
    /// Routing is fixed at the start, and a certificate that is not valid now is no improvement.
    func checkReplacing(
        _ old: CredentialMaterial,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        guard certificate != nil else { return }
        try checkValidity(files, now: SystemClock.wallClock)
        guard environments.isSuperset(of: old.environments) else {
            throw CredentialMaterialError(
                key: "certificate_file",
                files.certificateName
                    + " does not serve the environments of the old certificate"
            )
        }
    }

    /// Checks that the certificate is valid now.
    package func checkValidity(
        _ files: WatchedFiles,
        now: Timestamp
    ) throws(CredentialMaterialError) {
        guard let facts = certificate?.facts, let expiry = expiry(now: now) else { return }
        let predicate: String
        switch expiry {
        case .distant, .near: return
        case .expired: predicate = "expired at \(Self.time(facts.notAfter)); renew it"
        case .early:
            predicate =
                "is not valid before \(Self.time(facts.notBefore)); check this machine's clock"
        }
        var error = CredentialMaterialError(
            key: "certificate_file",
            "\(files.certificateName) \(predicate)"
        )
        error.validFrom = expiry == .early ? facts.notBefore : nil
        throw error
    }

    /// The warning about a certificate that expires soon; nil: none.
    package func expiryWarning(_ files: WatchedFiles, now: Timestamp) -> String? {
        guard let facts = certificate?.facts, case .near(let days) = expiry(now: now) else {
            return nil
        }
        let count = days == 1 ? "1 day" : "\(days) days"
        return "certificate_file: \(files.certificateName) expires in \(count), at "
            + Self.time(facts.notAfter)
    }

    private static func time(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: TimeInterval(time.seconds)).ISO8601Format()
    }
}

extension WatchedFiles {
    /// The certificate's name in messages.
    fileprivate var certificateName: String { source("certificate").map { "\($0)" } ?? "" }
}
