import APNsRules
import Testing
import Vocabulary

@Suite struct CredentialRoutingTests {
    static let scopes = [
        CredentialScope(name: "all", bundleIDs: ["*"]),
        CredentialScope(name: "wide", bundleIDs: ["com.example.*"]),
        CredentialScope(name: "narrow", bundleIDs: ["com.example.games.*"]),
        CredentialScope(
            name: "chess",
            bundleIDs: ["com.example.games.chess", "com.example.voip"],
            defaultEnvironment: .sandbox
        ),
        CredentialScope(
            name: "mail",
            bundleIDs: ["com.example.mail"],
            environments: [.production]
        ),
        CredentialScope(
            name: "mail-test",
            bundleIDs: ["com.example.mail"],
            defaultEnvironment: .sandbox,
            environments: [.sandbox]
        ),
    ]

    @Test(arguments: [
        ("com.example.games.chess", "chess"), ("com.example.games.chess2", "narrow"),
        ("com.example.games.", "wide"), ("com.example.games", "wide"), ("com.example.", "all"),
        ("org.example", "all"), ("com.example.mail", "mail"),
    ])
    func `an exact bundle ID wins over a wildcard, and the longest wildcard wins`(
        bundleID: String,
        name: String
    )
        throws
    {
        let routing = try CredentialRouting(Self.scopes)
        let route = try #require(
            routing.route(for: .bundleID(bundleID), pushType: .alert, environment: .production)
        )
        #expect(Self.scopes[route.credential].name == name)
        #expect(route.environment == .production)
    }

    @Test(arguments: [
        ("com.example.games.chess", nil as APNsEnvironment?, "chess", APNsEnvironment.sandbox),
        (
            "com.example.games.chess", APNsEnvironment.production as APNsEnvironment?, "chess",
            .production
        ),
        ("com.example.mail", nil as APNsEnvironment?, "mail", .production),
        ("com.example.mail", APNsEnvironment.sandbox as APNsEnvironment?, "mail-test", .sandbox),
        ("com.example.mail", APNsEnvironment.production as APNsEnvironment?, "mail", .production),
        ("com.example.other", nil as APNsEnvironment?, "wide", .production),
    ])
    func `the event's environment wins over the credential's default`(
        bundleID: String,
        asked: APNsEnvironment?,
        name: String,
        environment: APNsEnvironment
    ) throws {
        let routing = try CredentialRouting(Self.scopes)
        let route = try #require(
            routing.route(for: .bundleID(bundleID), pushType: .alert, environment: asked)
        )
        #expect(Self.scopes[route.credential].name == name)
        #expect(route.environment == environment)
    }

    @Test(arguments: [
        ("com.example.games.chess.voip", PushType.voip, "chess"),
        ("com.example.games.chess.push-type.liveactivity", .liveactivity, "chess"),
        // The bundle ID itself ends like a suffix.
        ("com.example.voip", .alert, "chess"),
        ("com.example.games.chess", .mdm, "chess"),
        // The suffix is missing, but the credential is still known.
        ("com.example.games.chess", .voip, "chess"),
    ])
    func `a topic is routed by its bundle ID`(
        topic: String,
        type: PushType,
        name: String
    ) throws {
        let routing = try CredentialRouting(Self.scopes)
        let route = try #require(
            routing.route(for: .topic(APNsTopic(topic)), pushType: type, environment: nil)
        )
        #expect(Self.scopes[route.credential].name == name)
    }

    @Test func `a bundle ID without a credential has no route`() throws {
        let routing = try CredentialRouting(Array(Self.scopes[2...]))
        #expect(
            routing.route(for: .bundleID("com.example"), pushType: .alert, environment: nil) == nil
        )
        let mailOnly = try CredentialRouting([Self.scopes[4]])
        #expect(
            mailOnly.route(
                for: .bundleID("com.example.mail"),
                pushType: .alert,
                environment: .sandbox
            ) == nil
        )
    }

    @Test func `a wildcard applies where the exact credential does not`() throws {
        let routing = try CredentialRouting([Self.scopes[1], Self.scopes[4]])
        let route = routing.route(
            for: .bundleID("com.example.mail"),
            pushType: .alert,
            environment: .sandbox
        )
        #expect(route == CredentialRouting.Route(credential: 0, environment: .sandbox))
    }

    @Test func `all problems are reported at once`() {
        let error = #expect(throws: CredentialProblems.self) {
            try CredentialRouting([
                CredentialScope(name: "a", bundleIDs: ["com.a", "com.b.*"]),
                CredentialScope(name: "b", bundleIDs: ["com.a"], environments: [.production]),
                CredentialScope(name: "c", bundleIDs: ["", "com.*.x"]),
                CredentialScope(name: "d", bundleIDs: [], environments: [.sandbox]),
                CredentialScope(name: "e", bundleIDs: ["com.b.*"]),
            ])
        }
        #expect(
            error?.problems == [
                .ambiguous(first: "a", second: "b", pattern: "com.a"),
                .badPattern(credential: "c", pattern: ""),
                .badPattern(credential: "c", pattern: "com.*.x"),
                .noBundleIDs(credential: "d"),
                .badDefaultEnvironment(credential: "d"),
                .ambiguous(first: "a", second: "e", pattern: "com.b.*"),
            ]
        )
        #expect(error?.problems.allSatisfy { !$0.description.isEmpty } == true)
    }
}
