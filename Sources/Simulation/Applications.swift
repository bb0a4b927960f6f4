import APNsRules
import Vocabulary

/// The apps of the simulated world, and the service's credentials.
enum Applications {
    struct App {
        var bundleID: String
        /// The index of the credential that covers it.
        var credential: Int
        /// The environment in its events; nil: the credential decides.
        var environment: APNsEnvironment?
        /// The environment to which they are sent.
        var destination: APNsEnvironment
        var pushType: PushType
    }

    static let credentials = [
        CredentialScope(name: "wildcard", bundleIDs: ["com.example.*"]),
        // A certificate.
        CredentialScope(
            name: "exact",
            bundleIDs: ["com.example.Bank"],
            isProvenByHandshake: true
        ),
        CredentialScope(
            name: "test",
            bundleIDs: ["org.example.*"],
            defaultEnvironment: .sandbox,
            environments: [.sandbox]
        ),
    ]

    static let credentialCount = 3

    static let apps = [
        App(
            bundleID: "com.example.Chat",
            credential: 0,
            environment: nil,
            destination: .production,
            pushType: .alert
        ),
        App(
            bundleID: "com.example.News",
            credential: 0,
            environment: .sandbox,
            destination: .sandbox,
            pushType: .background
        ),
        App(
            bundleID: "com.example.Bank",
            credential: 1,
            environment: .production,
            destination: .production,
            pushType: .alert
        ),
        App(
            bundleID: "org.example.Trial",
            credential: 2,
            environment: nil,
            destination: .sandbox,
            pushType: .voip
        ),
    ]

    /// A bundle ID that no credential covers.
    static let uncovered = "net.example.Nobody"
}
