package import Vocabulary

/// A signing key registered with APNs.
package struct RegisteredKey: Hashable, Sendable {
    package var keyID: String
    package var teamID: String
    package var publicKeyPEM: [UInt8]
    /// The environments for which it is valid; older team keys are valid for both.
    package var environments: Set<APNsEnvironment>
    /// The bundle IDs to which it may push; nil: all of the team's.
    package var bundleIDs: Set<String>?
    /// A key for other topics that may be used on the same connection.
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
