import APNsRules
import Vocabulary

/// The apps of the simulated world, and the credentials of its service.
enum Applications {
    struct App {
        var bundleID: String
        /// Which of the credentials covers it, by its place.
        var credential: Int
        /// What its events say; nil leaves it to the credential.
        var environment: APNsEnvironment?
        /// Where they go.
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

    /// No credential covers it.
    static let uncovered = "net.example.Nobody"
}
