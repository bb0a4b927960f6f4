import EventCodec
import Testing
import Vocabulary

/// A change to a valid event that APNs would answer with an error.
private struct RefusedRequest: Sendable, CustomTestStringConvertible {
    /// The answer that APNs would give.
    let reason: APNsReason
    let what: String
    let changes: [(name: String, value: String?)]
    /// The path of the violation.
    let instance: String

    init(
        _ reason: APNsReason,
        _ what: String,
        _ changes: [(String, String?)],
        at instance: String
    ) {
        self.reason = reason
        self.what = what
        self.changes = changes.map { (name: $0.0, value: $0.1) }
        self.instance = instance
    }

    var testDescription: String { "\(reason.rawValue): \(what)" }

    var event: EventText {
        changes.reduce(EventText()) { $0.with($1.name, $1.value) }
    }
}

/// The topic suffix of each push type ("Sending notification requests to APNs").
private let suffixes: [(pushType: PushType, suffix: String)] = [
    (.location, ".location-query"), (.voip, ".voip"), (.complication, ".complication"),
    (.fileprovider, ".pushkit.fileprovider"), (.liveactivity, ".push-type.liveactivity"),
    (.pushtotalk, ".voip-ptt"), (.widgets, ".push-type.widgets"),
    (.controls, ".push-type.controls"),
]

private func quoted(_ text: String) -> String { "\"\(text)\"" }

private func payload(_ byteCount: Int) -> String {
    #"{"x":""# + String(repeating: "y", count: byteCount - 8) + #""}"#
}

private let badDeviceTokens: [RefusedRequest] = [
    RefusedRequest(.missingDeviceToken, "no token", [("device_token", nil)], at: ""),
    RefusedRequest(
        .missingDeviceToken,
        "an empty token",
        [("device_token", "\"\"")],
        at: "/device_token"
    ),
    RefusedRequest(
        .badDeviceToken,
        "an odd number of digits",
        [("device_token", "\"abc\"")],
        at: "/device_token"
    ),
    RefusedRequest(
        .badDeviceToken,
        "characters that are not hexadecimal digits",
        [("device_token", "\"zz\"")],
        at: "/device_token"
    ),
    RefusedRequest(
        .badPath,
        "a token that would change the request path",
        [("device_token", "\"../4/00\"")],
        at: "/device_token"
    ),
]

private let badHeaders: [RefusedRequest] = [
    RefusedRequest(.invalidPushType, "no push type", [("push_type", nil)], at: ""),
    RefusedRequest(
        .invalidPushType,
        "an unknown push type",
        [("push_type", "\"sms\"")],
        at: "/push_type"
    ),
    RefusedRequest(.badMessageID, "no UUID", [("apns_id", "\"17\"")], at: "/apns_id"),
    RefusedRequest(
        .badMessageID,
        "a UUID of 31 digits",
        [("apns_id", "\"eabeae54-14a8-11e5-b60b-1697f925ec7\"")],
        at: "/apns_id"
    ),
    RefusedRequest(
        .badExpirationDate,
        "a negative time",
        [("expiration", "-1")],
        at: "/expiration"
    ),
    RefusedRequest(
        .badExpirationDate,
        "milliseconds",
        [("expiration", "1790000000000")],
        at: "/expiration"
    ),
    RefusedRequest(.badExpirationDate, "a fraction", [("expiration", "0.5")], at: "/expiration"),
    RefusedRequest(.badExpirationDate, "a text", [("expiration", "\"1\"")], at: "/expiration"),
    RefusedRequest(
        .badPriority,
        "a priority other than 10, 5 or 1",
        [("priority", "7")],
        at: "/priority"
    ),
    RefusedRequest(.badPriority, "a text", [("priority", "\"5\"")], at: "/priority"),
    RefusedRequest(
        .badPriority,
        "a background notification of priority 10",
        [("push_type", "\"background\""), ("priority", "10")],
        at: "/priority"
    ),
    RefusedRequest(
        .badPriority,
        "a background notification of priority 1",
        [("push_type", "\"background\""), ("priority", "1")],
        at: "/priority"
    ),
    RefusedRequest(
        .badCollapseID,
        "65 bytes",
        [("collapse_id", quoted(String(repeating: "é", count: 32) + "x"))],
        at: "/collapse_id"
    ),
    RefusedRequest(.badCollapseID, "no byte", [("collapse_id", "\"\"")], at: "/collapse_id"),
    RefusedRequest(
        .badCollapseID,
        "characters that no header may contain",
        [("collapse_id", #""a\r\nb""#)],
        at: "/collapse_id"
    ),
    RefusedRequest(
        .badCollapseID,
        "a leading space",
        [("collapse_id", "\" a\"")],
        at: "/collapse_id"
    ),
    RefusedRequest(
        .badCollapseID,
        "a trailing space",
        [("collapse_id", "\"a \"")],
        at: "/collapse_id"
    ),
    RefusedRequest(.badCollapseID, "only a space", [("collapse_id", "\" \"")], at: "/collapse_id"),
]

private let badTopics: [RefusedRequest] =
    [
        RefusedRequest(.missingTopic, "no topic", [("bundle_id", nil)], at: ""),
        RefusedRequest(
            .duplicateHeaders,
            "two topics",
            [("topic", "\"com.example.App\"")],
            at: ""
        ),
        RefusedRequest(.badTopic, "an empty bundle ID", [("bundle_id", "\"\"")], at: "/bundle_id"),
        RefusedRequest(.badTopic, "a space", [("bundle_id", "\"a b\"")], at: "/bundle_id"),
        RefusedRequest(
            .badTopic,
            "an empty topic",
            [("bundle_id", nil), ("topic", "\"\"")],
            at: "/topic"
        ),
        RefusedRequest(
            .badTopic,
            "a line break",
            [("bundle_id", nil), ("topic", #""a\n""#)],
            at: "/topic"
        ),
    ]
    + suffixes.map { pushType, _ in
        RefusedRequest(
            .invalidPushType,
            "a topic of another push type than \(pushType.rawValue)",
            [
                ("bundle_id", nil), ("topic", "\"com.example.App\""),
                ("push_type", quoted(pushType.rawValue)),
            ],
            at: "/topic"
        )
    }

private let badBodies: [RefusedRequest] =
    [
        RefusedRequest(.payloadEmpty, "no payload", [("payload", nil)], at: ""),
        RefusedRequest(.payloadEmpty, "null", [("payload", "null")], at: "/payload"),
        RefusedRequest(.payloadEmpty, "no dictionary", [("payload", "[]")], at: "/payload"),
    ]
    + PushType.allCases.map { pushType in
        let limit = pushType == .voip ? 5120 : 4096
        return RefusedRequest(
            .payloadTooLarge,
            "\(limit + 1) bytes for \(pushType.rawValue)",
            [("push_type", quoted(pushType.rawValue)), ("payload", payload(limit + 1))],
            at: "/payload"
        )
    }

/// Requests that APNs documents as errors are never sent, and valid ones are.
@Suite struct ShippedSchemaAPNsTests {
    @Test(arguments: badDeviceTokens + badHeaders + badTopics + badBodies)
    fileprivate func `a request that APNs would reject is not sent`(request: RefusedRequest) {
        // These rules apply even with payload checks off.
        var decoder = EventDecoder(payloadPolicy: .off)
        guard case .invalid(let event) = decoder.decode(request.event.record) else {
            Issue.record("the request would be sent")
            return
        }
        #expect(event.violations.first?.instanceLocation == request.instance)
        let isTooLarge = request.reason == .payloadTooLarge
        #expect(event.reason == (isTooLarge ? .payloadTooLarge : .schemaViolation))
    }

    @Test func `a duplicate field is rejected like a duplicate header`() {
        for name in ["apns_id", "priority", "push_type", "collapse_id", "expiration", "topic"] {
            var text = EventText().with("bundle_id", nil).with("topic", "\"com.example.App\"")
                .with("priority", "5").with("expiration", "0").with("collapse_id", "\"a\"")
                .with("apns_id", "\"00000000-0000-0000-0000-000000000000\"")
            guard let again = text.members.first(where: { $0.0 == name }) else {
                Issue.record("no field is called \(name)")
                continue
            }
            text.members.append(again)
            var decoder = EventDecoder(payloadPolicy: .off)
            guard case .invalid(let event) = decoder.decode(text.record) else {
                Issue.record("\(name) is duplicated and would be sent")
                continue
            }
            #expect(event.reason == .malformedEvent)
        }
    }

    @Test(arguments: PushType.allCases)
    func `a request that APNs accepts is sent`(pushType: PushType) {
        let limit = pushType == .voip ? 5120 : 4096
        let plain = EventText().with("push_type", quoted(pushType.rawValue))
        var accepted = [
            plain.with("payload", payload(limit)), plain.with("payload", "{}"),
            plain.with("expiration", "0"), plain.with("expiration", "4294967295"),
            plain.with("collapse_id", quoted(String(repeating: "é", count: 32))),
            plain.with("collapse_id", quoted("a")), plain.with("collapse_id", quoted("é é")),
            plain.with("device_token", quoted(String(repeating: "0F", count: 100))),
            plain.with("payload", #"{"aps":{"badge":"three","colour":"red","event":7}}"#),
        ]
        let priorities = pushType == .background ? ["5"] : ["10", "5", "1"]
        accepted += priorities.map { plain.with("priority", $0) }
        let suffix = suffixes.first { $0.pushType == pushType }?.suffix ?? ""
        accepted.append(
            plain.with("bundle_id", nil).with("topic", quoted("com.example.My_App" + suffix))
        )
        for text in accepted {
            var decoder = EventDecoder()
            guard case .event = decoder.decode(text.record) else {
                Issue.record("refused: \(String(decoding: text.bytes, as: UTF8.self))")
                continue
            }
        }
    }

    @Test func `an unknown key in aps is a warning`() {
        let text = EventText().with("payload", #"{"aps":{"alert":"a","colour":"red"}}"#)
        var decoder = EventDecoder()
        guard case .event(let event) = decoder.decode(text.record) else {
            Issue.record("refused")
            return
        }
        #expect(event.warnings.map(\.instanceLocation) == ["/payload/aps/colour"])
    }

    @Test func `a payload is checked against the rules of its push type`() {
        let samples: [(PushType, String, String?)] = [
            (.background, #"{"aps":{"content-available":1}}"#, nil),
            (.alert, #"{"aps":{"content-available":1}}"#, "/payload/aps"),
            (.background, #"{"aps":{"alert":"a","content-available":1}}"#, "/payload/aps/alert"),
            (.alert, #"{"aps":{"alert":"a","content-available":1}}"#, nil),
            (.voip, "{}", nil), (.mdm, "{}", "/payload"), (.widgets, "{}", "/payload"),
            (.controls, #"{"aps":{"content-changed":true}}"#, nil),
            (.liveactivity, #"{"aps":{"event":"end","timestamp":1}}"#, nil),
            (.alert, #"{"aps":{"alert":"a","event":"end"}}"#, "/payload/aps/event"),
            (.fileprovider, "{}", "/payload"),
        ]
        let reload = #"{"aps":{"content-changed":true}}"#
        for (pushType, payload, expiration, instance) in samples.map({ ($0, $1, nil, $2) }) + [
            (.widgets, reload, "1790000000", "/expiration"), (.widgets, reload, nil, nil),
            (.controls, reload, "1790000000", nil),
        ] as [(PushType, String, String?, String?)] {
            let text = EventText().with("push_type", quoted(pushType.rawValue))
                .with("payload", payload).with("expiration", expiration)
            var decoder = EventDecoder()
            guard case .event(let event) = decoder.decode(text.record) else {
                Issue.record("refused: \(payload)")
                continue
            }
            #expect(event.warnings.first?.instanceLocation == instance, "\(pushType) \(payload)")
        }
    }
}
