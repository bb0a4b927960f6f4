import APNsRules
import Testing
import Vocabulary

@Suite struct BroadcastVerdictTests {
    struct Case: Sendable {
        var status: Int
        var text: String?
        var disposition: Disposition
        var fault: Fault

        init(_ status: Int, _ text: String?, _ disposition: Disposition, _ fault: Fault) {
            self.status = status
            self.text = text
            self.disposition = disposition
            self.fault = fault
        }
    }

    /// Copied independently from Apple's page about broadcasts.
    static let documented: [Case] = [
        Case(400, "FeatureNotEnabled", .rejected, .event),
        Case(400, "MissingChannelId", .rejected, .event),
        Case(400, "BadChannelId", .rejected, .event),
        Case(400, "ChannelNotRegistered", .rejected, .channel),
        Case(400, "BadRequestParams", .rejected, .event),
        Case(400, "BadRequestPayload", .rejected, .event),
        Case(400, "PayloadEmpty", .rejected, .event),
        Case(400, "BadMessageId", .rejected, .event),
        Case(400, "MissingPushType", .rejected, .event),
        Case(400, "InvalidPushType", .rejected, .event),
        Case(400, "CannotCreateChannelConfig", .rejected, .event),
        Case(400, "BadExpirationDate", .rejected, .event),
        Case(400, "TopicDisallowed", .rejected, .event),
        Case(400, "BadPriority", .rejected, .event),
        Case(403, "BadCertificate", .parkCredential, .credential),
        Case(403, "BadCertificateEnvironment", .parkCredential, .credential),
        Case(403, "TopicMismatch", .rejected, .credential),
        Case(403, "MissingProviderToken", .parkCredential, .credential),
        Case(403, "ExpiredProviderToken", .refreshProviderToken, .credential),
        Case(403, "InvalidProviderToken", .parkCredential, .credential),
        Case(404, "BadPath", .rejected, .event),
        Case(405, "MethodNotAllowed", .rejected, .event),
        Case(413, "PayloadTooLarge", .rejected, .event),
        Case(429, "TooManyRequests", .retryHere, .channel),
        Case(429, "TooManyProviderTokenUpdates", .parkCredential, .credential),
        Case(500, "InternalServerError", .retryHere, .server),
        Case(503, "Service Unavailable", .retryHere, .server),
        Case(503, "Shutdown", .retryElsewhere, .connection),
    ]

    static let others: [Case] = [
        Case(200, nil, .delivered, .nobody),
        Case(503, "ServiceUnavailable", .retryHere, .server),
        Case(429, nil, .retryHere, .server),
        Case(429, "BadMood", .retryHere, .channel),
        Case(403, nil, .retryHere, .server),
        Case(403, "BadMood", .parkCredential, .credential),
        Case(400, nil, .retryHere, .server),
        Case(502, nil, .retryHere, .server),
        Case(301, nil, .retryElsewhere, .connection),
        // Reasons about devices do not apply here.
        Case(400, "BadDeviceToken", .rejected, .event),
        Case(410, "Unregistered", .rejected, .event),
        Case(410, nil, .retryHere, .server),
    ]

    @Test(arguments: documented + others)
    func `a broadcast is judged by its own table`(_ example: Case) {
        let verdict = Verdict.classify(
            status: example.status,
            reason: example.text.map(Reason.init(apnsText:)),
            kind: .broadcast
        )
        #expect(verdict == Verdict(example.disposition, example.fault))
    }

    @Test func `every reason that Apple documents for broadcasts is known`() {
        for example in Self.documented {
            let reason = example.text.map(Reason.init(apnsText:))
            guard case .apns? = reason else {
                Issue.record("\(example) is unknown")
                continue
            }
        }
    }

    @Test(arguments: 0...999)
    func `no answer to a broadcast changes a device token`(status: Int) {
        for reason in [nil, Reason.unknownAPNs("?")] + APNsReason.allCases.map(Reason.apns) {
            let verdict = Verdict.classify(status: status, reason: reason, kind: .broadcast)
            #expect(verdict.tokenAction == .keep)
            #expect(verdict.fault != .token)
            #expect(verdict.disposition != .unregistered)
            #expect((verdict.disposition == .delivered) == (200...299).contains(status))
        }
    }
}
