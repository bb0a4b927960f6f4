package import HTTP2IO
package import Vocabulary

/// What APNs remembers of one connection.
package struct ConnectionFacts: Hashable, Sendable {
    package let environment: APNsEnvironment
    /// What stands in the client's certificate; nil when it sent none.
    package let certificate: CertificateFacts?
    /// The token that the last request carried, if it was right.
    var providerToken: VerifiedProviderToken?
    /// A valid provider token, or a certificate, has been seen.
    package var isProven: Bool
    /// The last topic that was found to be right, with the push type it is right for.
    var approvedTopic: [UInt8] = []
    var approvedPushType: PushType?
    /// The key that approved it.
    var approvedKey: Int?

    package init(environment: APNsEnvironment, certificate: CertificateFacts? = nil) {
        self.environment = environment
        self.certificate = certificate
        isProven = certificate != nil
    }
}
