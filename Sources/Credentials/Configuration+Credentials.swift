package import APNsRules
package import Configuration
package import Log

extension Configuration.APNs {
    /// Reads the credentials' files; reports every problem with its configuration key.
    package func readMaterials() throws(ServiceError) -> [CredentialMaterial] {
        try CredentialMaterial.all(credentials, credentials.map { $0.readFiles() })
    }

    /// The endpoints of connections, with the current contents of the CA and proxy password files.
    package func readEndpoints() throws(ServiceError) -> APNsEndpoints {
        try APNsEndpoints(self, readCommonFiles())
    }
}

extension CredentialScope {
    package init(_ credential: Configuration.Credential, _ material: CredentialMaterial) {
        self.init(
            name: credential.name,
            bundleIDs: credential.bundleIDs.map(\.description),
            defaultEnvironment: credential.environment,
            environments: material.environments.intersection(credential.environments),
            isProvenByHandshake: material.certificate != nil
        )
    }
}
