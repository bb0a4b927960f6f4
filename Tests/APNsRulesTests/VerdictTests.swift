import APNsRules
import Testing
import Vocabulary

@Suite struct VerdictTests {
    struct Case: Sendable {
        var status: Int
        var text: String?
        var disposition: Disposition
        var fault: Fault
        var token = TokenAction.keep
    }

    /// The 32 documented reasons, copied independently from Apple's page.
    static let documented: [Case] = [
        Case(status: 400, text: "BadCollapseId", disposition: .rejected, fault: .event),
        Case(
            status: 400,
            text: "BadDeviceToken",
            disposition: .rejected,
            fault: .token,
            token: .checkEnvironment
        ),
        Case(status: 400, text: "BadExpirationDate", disposition: .rejected, fault: .event),
        Case(status: 400, text: "BadMessageId", disposition: .rejected, fault: .event),
        Case(status: 400, text: "BadPriority", disposition: .rejected, fault: .event),
        Case(status: 400, text: "BadTopic", disposition: .rejected, fault: .event),
        Case(
            status: 400,
            text: "DeviceTokenNotForTopic",
            disposition: .rejected,
            fault: .token,
            token: .checkTopic
        ),
        Case(status: 400, text: "DuplicateHeaders", disposition: .rejected, fault: .event),
        Case(status: 400, text: "IdleTimeout", disposition: .retryElsewhere, fault: .connection),
        Case(status: 400, text: "InvalidPushType", disposition: .rejected, fault: .event),
        Case(status: 400, text: "MissingDeviceToken", disposition: .rejected, fault: .event),
        Case(status: 400, text: "MissingTopic", disposition: .rejected, fault: .event),
        Case(status: 400, text: "PayloadEmpty", disposition: .rejected, fault: .event),
        Case(status: 400, text: "TopicDisallowed", disposition: .rejected, fault: .credential),
        Case(status: 403, text: "BadCertificate", disposition: .parkCredential, fault: .credential),
        Case(
            status: 403,
            text: "BadCertificateEnvironment",
            disposition: .parkCredential,
            fault: .credential
        ),
        Case(
            status: 403,
            text: "ExpiredProviderToken",
            disposition: .refreshProviderToken,
            fault: .credential
        ),
        Case(status: 403, text: "Forbidden", disposition: .rejected, fault: .credential),
        Case(
            status: 403,
            text: "InvalidProviderToken",
            disposition: .parkCredential,
            fault: .credential
        ),
        Case(
            status: 403,
            text: "MissingProviderToken",
            disposition: .parkCredential,
            fault: .credential
        ),
        Case(
            status: 403,
            text: "UnrelatedKeyIdInToken",
            disposition: .retryElsewhere,
            fault: .connection
        ),
        Case(
            status: 403,
            text: "BadEnvironmentKeyIdInToken",
            disposition: .parkCredential,
            fault: .credential
        ),
        Case(status: 404, text: "BadPath", disposition: .rejected, fault: .event),
        Case(status: 405, text: "MethodNotAllowed", disposition: .rejected, fault: .event),
        Case(
            status: 410,
            text: "ExpiredToken",
            disposition: .unregistered,
            fault: .token,
            token: .remove
        ),
        Case(
            status: 410,
            text: "Unregistered",
            disposition: .unregistered,
            fault: .token,
            token: .remove
        ),
        Case(status: 413, text: "PayloadTooLarge", disposition: .rejected, fault: .event),
        Case(
            status: 429,
            text: "TooManyProviderTokenUpdates",
            disposition: .parkCredential,
            fault: .credential
        ),
        Case(status: 429, text: "TooManyRequests", disposition: .retryHere, fault: .token),
        Case(status: 500, text: "InternalServerError", disposition: .retryHere, fault: .server),
        Case(status: 503, text: "ServiceUnavailable", disposition: .retryHere, fault: .server),
        Case(status: 503, text: "Shutdown", disposition: .retryElsewhere, fault: .connection),
    ]

    static let others: [Case] = [
        Case(status: 200, disposition: .delivered, fault: .nobody),
        Case(status: 200, text: "Unregistered", disposition: .delivered, fault: .nobody),
        Case(status: 204, disposition: .delivered, fault: .nobody),
        Case(
            status: 403,
            text: "BadEnvironmentKeyInToken",
            disposition: .parkCredential,
            fault: .credential
        ),
        // No reason: HTML, or no body.
        Case(status: 400, disposition: .retryHere, fault: .server),
        Case(status: 403, disposition: .retryHere, fault: .server),
        Case(status: 404, disposition: .retryHere, fault: .server),
        Case(status: 405, disposition: .retryHere, fault: .server),
        Case(status: 407, disposition: .retryHere, fault: .server),
        Case(status: 408, disposition: .retryHere, fault: .connection),
        Case(status: 410, disposition: .retryHere, fault: .server),
        Case(status: 413, disposition: .retryHere, fault: .server),
        Case(status: 418, disposition: .retryHere, fault: .server),
        Case(status: 421, disposition: .retryElsewhere, fault: .connection),
        Case(status: 429, disposition: .retryHere, fault: .server),
        Case(status: 500, disposition: .retryHere, fault: .server),
        Case(status: 502, disposition: .retryHere, fault: .server),
        Case(status: 599, disposition: .retryHere, fault: .server),
        // An unknown reason: the status decides.
        Case(status: 400, text: "BadMood", disposition: .rejected, fault: .event),
        Case(status: 403, text: "BadMood", disposition: .parkCredential, fault: .credential),
        Case(
            status: 410,
            text: "BadMood",
            disposition: .unregistered,
            fault: .token,
            token: .remove
        ),
        Case(status: 429, text: "BadMood", disposition: .retryHere, fault: .token),
        Case(status: 503, text: "BadMood", disposition: .retryHere, fault: .server),
        // A reason with a status that is not its own is ignored; above all, no token is removed.
        Case(status: 400, text: "Unregistered", disposition: .rejected, fault: .event),
        Case(status: 400, text: "ExpiredToken", disposition: .rejected, fault: .event),
        Case(status: 403, text: "Unregistered", disposition: .parkCredential, fault: .credential),
        Case(status: 503, text: "Unregistered", disposition: .retryHere, fault: .server),
        Case(status: 500, text: "BadDeviceToken", disposition: .retryHere, fault: .server),
        // Not valid HTTP statuses of APNs.
        Case(status: 0, disposition: .retryElsewhere, fault: .connection),
        Case(status: 103, disposition: .retryElsewhere, fault: .connection),
        Case(status: 301, disposition: .retryElsewhere, fault: .connection),
        Case(status: 600, disposition: .retryElsewhere, fault: .connection),
        Case(status: -1, disposition: .retryElsewhere, fault: .connection),
        Case(status: 1000, disposition: .retryElsewhere, fault: .connection),
    ]

    @Test(arguments: documented + others)
    func `the status decides first, then the reason`(_ example: Case) {
        let verdict = Verdict.classify(
            status: example.status,
            reason: example.text.map(Reason.init(apnsText:))
        )
        #expect(verdict == Verdict(example.disposition, example.fault, token: example.token))
    }

    @Test func `every documented reason has a case above`() {
        let texts = ReasonTable.rows.compactMap(\.reason?.rawValue)
        #expect(Set(Self.documented.compactMap(\.text)) == Set(texts))
        #expect(Self.documented.count == 32)
    }

    @Test(arguments: 0...999)
    func `only 410 with a reason removes a token, and only 200 to 299 delivers`(status: Int) {
        for reason in [nil, Reason.unknownAPNs("?")] + APNsReason.allCases.map(Reason.apns) {
            let verdict = Verdict.classify(status: status, reason: reason)
            let isDead = status == 410 && reason != nil
            #expect((verdict.tokenAction == .remove) == isDead)
            #expect((verdict.disposition == .unregistered) == isDead)
            #expect((verdict.disposition == .delivered) == (200...299).contains(status))
        }
    }

    @Test(arguments: [
        "BadDeviceToken", "DeviceTokenNotForTopic", "Forbidden", "ExpiredToken", "Unregistered",
        "PayloadTooLarge",
    ])
    func `a reason that Apple forbids to retry is final`(text: String) throws {
        let row = try #require(ReasonTable.rows(matching: text).first)
        #expect(row.verdict.disposition.outcome != nil)
    }

    @Test(arguments: [
        ("BadCertificateEnvironment", Verdict(.parkCredential, .credential)),
        ("InvalidProviderToken", Verdict(.parkCredential, .credential)),
        ("ExpiredProviderToken", Verdict(.refreshProviderToken, .credential)),
        ("UnrelatedKeyIdInToken", Verdict(.retryElsewhere, .connection)),
        ("Forbidden", Verdict(.retryElsewhere, .connection)),
        ("TopicDisallowed", Verdict(.retryElsewhere, .connection)),
        ("Shutdown", Verdict(.retryElsewhere, .connection)),
        ("IdleTimeout", Verdict(.retryElsewhere, .connection)),
        ("BadDeviceToken", Verdict(.retryElsewhere, .connection)),
        ("NeverSeen", Verdict(.retryElsewhere, .connection)),
    ])
    func `GOAWAY parks the credential, replaces its token or ends one connection`(
        text: String,
        expected: Verdict
    ) {
        #expect(Verdict.goAway(reason: Reason(apnsText: text)) == expected)
        #expect(Verdict.goAway(reason: nil) == Verdict(.retryElsewhere, .connection))
    }
}
