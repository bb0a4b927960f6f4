import Configuration
import Testing
import Vocabulary

@Suite struct CredentialEnvironmentTests {
    /// One credential per list of extra keys.
    private func yaml(_ keys: [String]) -> String {
        let credentials = keys.enumerated().map { index, keys in
            """
            {name: c\(index), team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: /k, \
            bundle_ids: [com.example.MyApp]\(keys)}
            """
        }
        return "apns: {credentials: [\(credentials.joined(separator: ", "))]}"
    }

    @Test(arguments: [
        ("", [APNsEnvironment.production, .sandbox], APNsEnvironment.production),
        (", environment: sandbox", [.production, .sandbox], .sandbox),
        (", environments: [sandbox]", [.sandbox], .sandbox),
        (", environments: [sandbox, production]", [.sandbox, .production], .sandbox),
        (", environments: [production], environment: production", [.production], .production),
    ])
    func `events without an environment use the first one of their credential`(
        keys: String,
        environments: [APNsEnvironment],
        standard: APNsEnvironment
    ) throws {
        let credential = try configuration(yaml([keys])).apns.credentials[0]
        #expect(credential.environments == environments)
        #expect(credential.environment == standard)
    }

    @Test(arguments: [
        // One bundle ID, with a key for each environment.
        ([", environments: [production]", ", environments: [sandbox]"], []),
        (
            [", environments: [production]", ""],
            ["apns.credentials.1.bundle_ids: has 'com.example.MyApp', as has"]
        ),
        (
            [", environments: [sandbox]", ", environments: [sandbox, production]"],
            ["apns.credentials.1.bundle_ids: has 'com.example.MyApp', as has"]
        ),
        ([", environments: []"], ["apns.credentials.0.environments: is empty"]),
        (
            [", environments: [sandbox], environment: production"],
            ["apns.credentials.0.environment: is 'production'; expected one of `environments`"]
        ),
        ([", environments: [test]"], ["apns.credentials.0.environments.0: is 'test'"]),
    ])
    func `each environment of an app has one credential`(keys: [String], expected: [String]) {
        let told = problems(yaml(keys))
        #expect(told.count == expected.count, "\(told)")
        for (problem, start) in zip(told, expected) { #expect(problem.contains(start)) }
    }
}
