package import Vocabulary

/// A signing key as APNs knows it.
package struct RegisteredKey: Hashable, Sendable {
    package var keyID: String
    package var teamID: String
    package var publicKeyPEM: [UInt8]
    /// Where it is good; team keys of old are good in both.
    package var environments: Set<APNsEnvironment>
    /// Bundle IDs it may push to; nil is all of the team's.
    package var bundleIDs: Set<String>?
    /// A key of other topics that may be used on the same connection.
    package var relatedKeyID: String?

    package init(
        keyID: String,
        teamID: String,
        publicKeyPEM: [UInt8],
        environments: Set<APNsEnvironment> = [.production, .sandbox],
        bundleIDs: Set<String>? = nil,
        relatedKeyID: String? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKeyPEM = publicKeyPEM
        self.environments = environments
        self.bundleIDs = bundleIDs
        self.relatedKeyID = relatedKeyID
    }
}
