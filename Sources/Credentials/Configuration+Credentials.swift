package import APNsRules
package import Configuration
package import Log
package import Vocabulary

extension Configuration.APNs {
    /// Reads the credentials' files; reports every problem with its configuration key.
    package func readMaterials() throws(ServiceError) -> [CredentialMaterial] {
        try CredentialMaterial.all(credentials, credentials.map { $0.readFiles() })
    }

    /// The endpoints of connections, with the current contents of the CA and proxy password files.
    package func readEndpoints() throws(ServiceError) -> APNsEndpoints {
        try APNsEndpoints(self, readCommonFiles())
    }

    /// What each credential covers.
    ///
    /// - Parameter materials: The credentials' files; nil: a certificate may be valid for less.
    /// - Returns: The scopes in the order of the configuration.
    package func scopes(_ materials: [CredentialMaterial]?) -> [CredentialScope] {
        credentials.indices.map { CredentialScope(credentials[$0], materials?[$0]) }
    }
}

extension CredentialRouting {
    /// The credential and environment of a command's request, as the service would select them.
    ///
    /// - Throws: If no credential covers the destination.
    package func requiredRoute(
        for destination: Event.Destination,
        pushType: PushType,
        environment: APNsEnvironment?
    ) throws(ServiceError) -> Route {
        let route = route(for: destination, pushType: pushType, environment: environment)
        if let route { return route }
        let name =
            switch destination {
            case .bundleID(let bundleID): bundleID
            case .topic(let topic): topic.description
            }
        throw ServiceError(text: "apns.credentials: none covers \(name) (NoCredential); add one")
    }
}

extension CredentialScope {
    /// - Parameters:
    ///   - credential: The credential as configured.
    ///   - material: Its files; nil: they are not read, and may limit the environments.
    package init(_ credential: Configuration.Credential, _ material: CredentialMaterial?) {
        let valid = material?.environments ?? Set(APNsEnvironment.allCases)
        self.init(
            name: credential.name,
            bundleIDs: credential.bundleIDs.map(\.description),
            defaultEnvironment: credential.environment,
            environments: valid.intersection(credential.environments),
            isProvenByHandshake: material?.certificate != nil
        )
    }
}
