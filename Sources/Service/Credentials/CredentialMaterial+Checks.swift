import HTTP2IO
import Vocabulary

extension CredentialMaterial {
    /// Reads the files of all credentials; every bad one is reported, with its key.
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

    /// Nil: it is no certificate.
    func expiry(now: Timestamp) -> CertificateExpiry? {
        certificate.map { certificate in
            CertificateExpiry(
                notBefore: certificate.facts.notBefore,
                notAfter: certificate.facts.notAfter,
                now: now
            )
        }
    }

    /// What a file may not bring while the service runs: the routing stands, and a certificate
    /// that is not valid now is no better than the one there is.
    func checkReplacing(
        _ old: CredentialMaterial,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        guard certificate != nil else { return }
        let file = files.path("certificate_file") ?? ""
        func refuse(_ cause: String) -> CredentialMaterialError {
            CredentialMaterialError(key: "certificate_file", file: file, cause: cause)
        }
        switch expiry(now: SystemClock.wallClock) {
        case nil, .distant, .near: break
        case .expired: throw refuse("expired")
        case .early:
            var error = refuse("not valid yet")
            error.validFrom = certificate?.facts.notBefore
            throw error
        }
        guard environments.isSuperset(of: old.environments) else {
            throw refuse("not good for the environments that the old certificate served")
        }
    }
}
