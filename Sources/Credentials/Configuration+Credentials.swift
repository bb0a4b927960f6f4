package import APNsRules
package import Configuration
package import Log

extension Configuration.APNs {
    /// Reads the credentials' files; every bad one is reported, with its key in the configuration.
    package func readMaterials() throws(ServiceError) -> [CredentialMaterial] {
        try CredentialMaterial.all(credentials, credentials.map { $0.readFiles() })
    }

    /// Where connections go, with CA and proxy as their files have them now.
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
