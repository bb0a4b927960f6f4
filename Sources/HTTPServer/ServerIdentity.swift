import HTTP2IO
package import Vocabulary

/// The server's certificate and its key.
package final class ServerIdentity: Sendable {
    /// Why files are unusable.
    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        /// The key's file is to blame, not the certificate's.
        package let isOfKey: Bool
        /// Completes a sentence about the file.
        package let description: String
    }

    let context: TLSContext
    /// When the certificate expires.
    package let notAfter: Timestamp

    /// Reads the certificate and its key.
    ///
    /// - Parameters:
    ///   - certificate: PEM, with the certificates of its issuers; it may hold the key.
    ///   - privateKey: PEM; nil: the key is in `certificate`.
    /// - Throws: What is wrong, and with which of the two.
    package init(certificate: [UInt8], privateKey: [UInt8]?) throws(Problem) {
        let identity: TLSIdentity
        do throws(KeyFileError) {
            let certificate = try ClientCertificate(file: certificate, privateKey: privateKey)
            identity = certificate.identity
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
