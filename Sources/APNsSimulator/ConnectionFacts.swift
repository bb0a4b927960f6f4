package import HTTP2IO
package import Vocabulary

/// The state that APNs keeps for one connection.
package struct ConnectionFacts: Hashable, Sendable {
    package let environment: APNsEnvironment
    /// Whether the connection uses the port for channels, not the one for notifications.
    package let isForChannels: Bool
    /// The contents of the client's certificate; nil if it sent none.
    package let certificate: CertificateFacts?
    /// The answer to every request, if the certificate is bad.
    package var certificateRefusal: APNsReason?
    /// The provider token of the last request, if it was valid.
    var providerToken: VerifiedProviderToken?
    /// Whether a valid provider token or a certificate has been seen.
    package var isProven: Bool
    /// The team's bundle IDs when the connection was bound; nil: all.
    var teamBundleIDs: Set<String>?
    /// The last topic found valid, for the push type `approvedPushType`.
    var approvedTopic: [UInt8] = []
    var approvedPushType: PushType?
    /// The index of the key for which the topic was approved.
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
