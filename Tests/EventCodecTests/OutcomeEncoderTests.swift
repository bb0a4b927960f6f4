import EventCodec
import JSON
import JSONSchema
import Testing
import Vocabulary

@Suite struct OutcomeEncoderTests {
    private let source = TopicPartition(topic: KafkaTopic("notifications"), partition: 3)

    /// An outcome as the engine makes it: decider and APNs status fit the kind.
    private func outcome(
        _ kind: OutcomeKind,
        full: Bool,
        reason: Reason? = nil
    ) -> Outcome {
        let status: Int? =
            switch kind {
            case .accepted: 200
            case .unregistered: 410
            case .rejected: 400
            case .undeliverable, .expired: full ? 503 : nil
            case .invalid, .suppressed, .duplicate, .cancelled: nil
            }
        let isDecidedByAPNs = [.accepted, .unregistered, .rejected].contains(kind)
        let usual = isDecidedByAPNs ? .apns(.badDeviceToken) : OutcomeRules.reasons(of: kind).first
        return Outcome(
            kind: kind,
            reason: kind == .accepted ? nil : reason ?? usual,
            decidedBy: isDecidedByAPNs ? .apns : .heliograph,
            tokenAction: kind == .unregistered ? .remove : .keep,
            subject: subject(of: kind, full: full),
            credential: full ? "c" : nil,
            httpStatus: status,
            apnsUniqueID: full ? "u" : nil,
            unregisteredAt: full || kind == .suppressed ? Timestamp(milliseconds: 5) : nil,
            violations: full || kind == .invalid
                ? [Violation(instanceLocation: "/a", keywordLocation: "/b", message: "c")] : [],
            receivedAt: Timestamp(milliseconds: 1_000),
            completedAt: Timestamp(milliseconds: 2_500)
        )
    }

    private func subject(of kind: OutcomeKind, full: Bool) -> OutcomeSubject {
        var subject = full ? fullSubject : OutcomeSubject(ofEvent: nil)
        // Only an event with a campaign can be cancelled.
        if full || kind == .cancelled { subject.campaign = CampaignName("spring \"sale\"") }
        return subject
    }

    private var fullSubject: OutcomeSubject {
        var subject = OutcomeSubject(ofEvent: "e\"1")
        subject.apnsID = APNsID(high: 1, low: 2)
        subject.deviceToken = DeviceToken("00ff")
        subject.topic = APNsTopic("com.example.App")
        subject.pushType = .alert
        subject.environment = .sandbox
        subject.metadata = 1..<10
        subject.occurredAt = Timestamp(milliseconds: 99_000)
        return subject
    }

    private var record: Record { EventText.record(Array(#" {"k":"v"} "#.utf8)) }

    private func violations(_ outcome: Outcome) throws -> [Violation] {
        var encoder = OutcomeEncoder()
        var bytes: [UInt8] = []
        encoder.encode(outcome, record: record, source: source, into: &bytes)
        var document = JSONDocument()
        try document.parse(bytes)
        let schema = EmbeddedSchema.notificationOutcomeV1.compiled()
        let violations = schema.findings(in: document, document.root).map { Violation($0) }
        let isAdmitted = schema.admits(document, document.root)
        #expect(isAdmitted == violations.isEmpty)
        return violations
    }

    @Test(arguments: OutcomeKind.allCases, [true, false])
    func `every kind of outcome is valid against its schema`(kind: OutcomeKind, full: Bool) throws {
        #expect(try violations(outcome(kind, full: full)) == [])
    }

    @Test func `an outcome with any reason is valid against its schema`() throws {
        for kind in OutcomeKind.allCases {
            for reason in OutcomeRules.reasons(of: kind)
            where reason != .local(.duplicateRecipient) {
                #expect(
                    try violations(outcome(kind, full: true, reason: reason)) == [],
                    "\(kind) \(reason.text)"
                )
            }
        }
    }

    @Test func `every push type and environment is valid against the schema`() throws {
        for pushType in PushType.allCases {
            for environment in APNsEnvironment.allCases {
                var outcome = outcome(.rejected, full: true)
                outcome.subject.pushType = pushType
                outcome.subject.environment = environment
                #expect(try violations(outcome) == [])
            }
        }
    }

    @Test(arguments: OutcomeKind.allCases)
    func `the schema admits exactly the token actions that the kind can have`(
        kind: OutcomeKind
    ) throws {
        for action in TokenAction.allCases {
            var outcome = outcome(kind, full: true)
            outcome.tokenAction = action
            let isAdmitted = try violations(outcome).isEmpty
            #expect(isAdmitted == OutcomeRules.tokenActions(of: kind).contains(action), "\(action)")
        }
    }

    @Test func `an outcome has the documented fields`() throws {
        var encoder = OutcomeEncoder()
        var bytes: [UInt8] = []
        encoder.encode(
            outcome(.rejected, full: true),
            record: record,
            source: source,
            into: &bytes
        )
        let value = try JSONValue.parse(bytes)
        #expect(value["received_at"] == .string("1970-01-01T00:00:01.000Z"))
        #expect(value["latency_ms"] == .integer(0))
        #expect(value["metadata"]?["k"] == .string("v"))
        #expect(value["source"]?["offset"] == .integer(7))
        #expect(value["unregistered_at"] == .integer(5))
        #expect(value["campaign"] == .string("spring \"sale\""))
    }

    @Test(arguments: OutcomeKind.allCases)
    func `a recipient's outcome says which of how many it is about`(kind: OutcomeKind) throws {
        let reasons = kind == .accepted ? [nil] : OutcomeRules.reasons(of: kind).map(Optional.some)
        for (index, count) in [(0, 1), (17, 500), (999, 1000)] {
            for reason in reasons {
                var outcome = outcome(kind, full: true, reason: reason)
                outcome.subject.recipient = RecipientPlace(index: index, count: count)
                #expect(try violations(outcome) == [], "\(reason?.text ?? "accepted")")
                var encoder = OutcomeEncoder()
                var bytes: [UInt8] = []
                encoder.encode(outcome, record: record, source: source, into: &bytes)
                let value = try JSONValue.parse(bytes)
                #expect(value["recipient"] == .integer(Int64(index)))
                #expect(value["recipients"] == .integer(Int64(count)))
            }
        }
    }

    @Test func `only an outcome of a recipient is a duplicate of another recipient`() throws {
        let outcome = outcome(.duplicate, full: true, reason: .local(.duplicateRecipient))
        #expect(try violations(outcome).map(\.keywordLocation) == ["/allOf/11/then/required"])
    }

    @Test func `an outcome's headers are its kind, its reason and its event's ID`() {
        var told: [String] = []
        for (kind, full) in [(OutcomeKind.rejected, true), (.accepted, true), (.accepted, false)] {
            let outcome = outcome(kind, full: full)
            OutcomeEncoder.forEachHeader(of: outcome, record: record) { name, value in
                let text = String(decoding: value.indices.map { value[$0] }, as: UTF8.self)
                told.append("\(name): \(text)")
            }
        }
        let expected = [
            "outcome: rejected", "reason: BadDeviceToken", "event-id: e\"1",
            "outcome: accepted", "event-id: e\"1", "outcome: accepted",
        ]
        #expect(told == expected)
    }

    @Test func `the times of an outcome do not depend on the previous outcome`() throws {
        var encoder = OutcomeEncoder()
        let times: [(Int64, String)] = [
            (1_769_851_800_200, "2026-01-31T09:30:00.200Z"),
            (1_769_851_800_999, "2026-01-31T09:30:00.999Z"),
            (1_769_851_801_000, "2026-01-31T09:30:01.000Z"),
            (1_769_851_800_007, "2026-01-31T09:30:00.007Z"),
            (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
            (-999, "1969-12-31T23:59:59.001Z"), (.max, "9999-12-31T23:59:59.999Z"),
            (.min, "0000-01-01T00:00:00.000Z"),
        ]
        for (index, (received, receivedText)) in times.enumerated() {
            let (completed, completedText) = times[(index + 1) % times.count]
            var outcome = outcome(.accepted, full: false)
            outcome.receivedAt = Timestamp(milliseconds: received)
            outcome.completedAt = Timestamp(milliseconds: completed)
            var bytes: [UInt8] = []
            encoder.encode(outcome, record: record, source: source, into: &bytes)
            let value = try JSONValue.parse(bytes)
            #expect(value["received_at"] == .string(receivedText))
            #expect(value["completed_at"] == .string(completedText))
        }
    }

    @Test func `an outcome's bytes do not depend on previous outcomes`() {
        let plain = outcome(.accepted, full: true)
        var outcomes = [plain]
        func add(_ change: (inout Outcome) -> Void) {
            outcomes.append(plain)
            change(&outcomes[outcomes.count - 1])
        }
        add { $0.kind = .rejected }
        add { $0.reason = .apns(.badTopic) }
        add { $0.reason = .unknownAPNs("\u{C5}") }
        add { $0.reason = .unknownAPNs("A\u{30A}") }
        add { $0.decidedBy = .heliograph }
        add { $0.tokenAction = .remove }
        add { $0.httpStatus = 201 }
        add { $0.httpStatus = nil }
        add { $0.credential = "d" }
        add { $0.credential = "" }
        add { $0.credential = nil }
        add { $0.subject.pushType = .background }
        add { $0.subject.pushType = nil }
        add { $0.subject.environment = .production }
        add { $0.subject.environment = nil }
        add { $0.subject.topic = APNsTopic("com.example.Aqq") }
        // Equal for Unicode, and different as app names.
        add { $0.subject.topic = APNsTopic("\u{1E9B}\u{323}") }
        add { $0.subject.topic = APNsTopic("\u{17F}\u{323}\u{307}") }
        add { $0.subject.topic = nil }
        add { $0.subject.eventID = "another" }
        add { $0.violations = [] }
        var used = OutcomeEncoder()
        // The encoder caches its last output, so every outcome follows every other and itself.
        func expectSame(_ outcome: Outcome, _ source: TopicPartition) {
            var fresh = OutcomeEncoder()
            var (bytes, expected): ([UInt8], [UInt8]) = ([], [])
            used.encode(outcome, record: record, source: source, into: &bytes)
            fresh.encode(outcome, record: record, source: source, into: &expected)
            #expect(bytes == expected)
        }
        for first in outcomes {
            for second in outcomes {
                for outcome in [first, second, second] { expectSame(outcome, source) }
            }
        }
        let sources = ["a", "b"].flatMap { topic in
            (0..<3).map { TopicPartition(topic: KafkaTopic(topic), partition: $0) }
        }
        for first in sources {
            for second in sources {
                for source in [first, second, second] { expectSame(plain, source) }
            }
        }
    }

    @Test func `only an answer from APNs about the token makes a token status`() throws {
        for kind in OutcomeKind.allCases {
            let status = OutcomeEncoder().tokenStatus(outcome(kind, full: true))
            #expect((status != nil) == (kind == .unregistered || kind == .rejected))
            guard let status else { continue }
            #expect(status.key == Array("com.example.App|sandbox|00ff".utf8))
            var document = JSONDocument()
            try document.parse(try #require(status.value))
            let schema = EmbeddedSchema.tokenStatusV1.compiled()
            let violations = schema.findings(in: document, document.root).map { Violation($0) }
            #expect(violations == [])
        }
    }

    @Test func `a tombstone withdraws the status of a token that is valid again`() throws {
        var outcome = outcome(.accepted, full: true)
        outcome.isTokenReadmitted = true
        let status = try #require(OutcomeEncoder().tokenStatus(outcome))
        #expect(status.key == Array("com.example.App|sandbox|00ff".utf8))
        #expect(status.value == nil)
    }
}
