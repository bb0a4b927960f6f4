package import HTTP2IO
package import Vocabulary

/// What APNs remembers of one connection.
package struct ConnectionFacts: Hashable, Sendable {
    package let environment: APNsEnvironment
    /// It came to the port for channels, not to the one for notifications.
    package let isForChannels: Bool
    /// What is in the client's certificate; nil when it sent none.
    package let certificate: CertificateFacts?
    /// What every request is answered with, because the certificate is bad.
    package var certificateRefusal: APNsReason?
    /// The token that the last request carried, if it was right.
    var providerToken: VerifiedProviderToken?
    /// A valid provider token, or a certificate, has been seen.
    package var isProven: Bool
    /// The team's bundle IDs when the connection was bound; nil is every one.
    var teamBundleIDs: Set<String>?
    /// The last topic that was found to be right, with the push type it is right for.
    var approvedTopic: [UInt8] = []
    var approvedPushType: PushType?
    /// The key that approved it.
    var approvedKey: Int?

    package init(
        environment: APNsEnvironment,
        isForChannels: Bool = false,
        certificate: CertificateFacts? = nil
    ) {
        self.environment = environment
        self.isForChannels = isForChannels
        self.certificate = certificate
        isProven = certificate != nil
    }
}
