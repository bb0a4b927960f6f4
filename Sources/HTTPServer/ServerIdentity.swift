import HTTP2IO
package import Vocabulary

/// The server's certificate and private key.
package final class ServerIdentity: Sendable {
    /// Why the files are unusable.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// Whether the fault is in the key's file, not in the certificate's.
        package let isOfKey: Bool
        /// Completes a sentence whose subject is the file.
        package let description: String
    }

    let context: TLSContext
    /// When the certificate is valid.
    package let notBefore: Timestamp
    package let notAfter: Timestamp

    /// Reads the certificate and its private key.
    ///
    /// - Parameters:
    ///   - certificate: PEM, with the issuers' certificates; may also contain the key.
    ///   - privateKey: PEM; nil: the key is in `certificate`.
    /// - Throws: The problem, and which of the two files has it.
    package init(certificate: [UInt8], privateKey: [UInt8]?) throws(Problem) {
        let identity: TLSIdentity
        do throws(KeyFileError) {
            let certificate = try ClientCertificate(file: certificate, privateKey: privateKey)
            identity = certificate.identity
            notBefore = certificate.facts.notBefore
            notAfter = certificate.facts.notAfter
        } catch {
            throw Problem(isOfKey: error.part == .privateKey, description: error.description)
        }
        do throws(TLSError) {
            context = try TLSContext.http1Server(identity)
        } catch {
            throw Problem(isOfKey: false, description: "cannot be used: \(error)")
        }
    }
}
