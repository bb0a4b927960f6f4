package import Vocabulary

/// What APNs remembers of one connection.
package struct ConnectionFacts: Hashable, Sendable {
    package let environment: APNsEnvironment
    /// The bundle ID in the client's certificate; nil when it sent none.
    package var certificateBundleID: String?
    /// The token that the last request carried, if it was right.
    var providerToken: VerifiedProviderToken?
    /// A valid provider token, or a certificate, has been seen.
    package var isProven: Bool
    /// The last topic that was found to be right, with the push type it is right for.
    var approvedTopic: [UInt8] = []
    var approvedPushType: PushType?
    /// The key that approved it.
    var approvedKey: Int?

    package init(environment: APNsEnvironment, certificateBundleID: String? = nil) {
        self.environment = environment
        self.certificateBundleID = certificateBundleID
        isProven = certificateBundleID != nil
    }

    /// The bundle ID in the common name of a provider certificate.
    ///
    /// Apple writes `Apple Push Services: com.example.app` and the like.
    package static func bundleID(commonName: String) -> String {
        guard let colon = commonName.lastIndex(of: ":") else { return commonName }
        return String(commonName[colon...].dropFirst().drop { $0 == " " })
    }
}
