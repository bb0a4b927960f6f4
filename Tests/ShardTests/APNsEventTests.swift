import APNsRules
import Delivery
import HTTP2IO
import Shard
import Testing
import Vocabulary

/// Translation of what connections see into the engine's terms.
@Suite struct APNsEventTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    struct Row: Sendable {
        var status: Int
        var headers: [(String, String)] = []
        var body = ""
        var answer: APNsAnswer
    }

    @Test(arguments: [
        Row(
            status: 200,
            headers: [("apns-unique-id", "u")],
            answer: APNsAnswer(status: 200, apnsUniqueID: "u")
        ),
        // Regardless of its content.
        Row(status: 200, body: #"{"reason":"BadDeviceToken"}"#, answer: APNsAnswer(status: 200)),
        Row(
            status: 400,
            body: #"{"reason":"BadDeviceToken"}"#,
            answer: APNsAnswer(status: 400, reason: .apns(.badDeviceToken))
        ),
        Row(
            status: 410,
            body: #"{"reason":"Unregistered","timestamp":1700000000000}"#,
            answer: APNsAnswer(
                status: 410,
                reason: .apns(.unregistered),
                unregisteredAt: Timestamp(milliseconds: 1_700_000_000_000)
            )
        ),
        Row(
            status: 410,
            body: #"{"reason":"Unregistered","timestamp":-1}"#,
            answer: APNsAnswer(status: 410, reason: .apns(.unregistered))
        ),
        // Only for a dead token.
        Row(
            status: 400,
            body: #"{"reason":"BadDeviceToken","timestamp":1700000000000}"#,
            answer: APNsAnswer(status: 400, reason: .apns(.badDeviceToken))
        ),
        Row(
            status: 503,
            headers: [("retry-after", "7")],
            body: "<html>",
            answer: APNsAnswer(status: 503, retryAfter: .seconds(7))
        ),
    ])
    func `the status of an answer decides, and the body explains`(row: Row) {
        let response = HTTP2Response(
            status: row.status,
            headers: row.headers,
            body: Array(row.body.utf8)
        )
        #expect(APNsAnswer.read(response, now: Self.now) == row.answer)
    }

    @Test func `a failed stream maps to one of five kinds`() {
        let breaks: [(StreamFailure, StreamBreak)] = [
            (.refused, .refused), (.aboveGoAway, .unprocessed), (.neverWritten, .unprocessed),
            (.reset(.internalError), .reset), (.responseTooLarge, .malformed),
            (.malformedResponse(.badField), .malformed), (.connectionClosed, .lost),
        ]
        for (failure, kind) in breaks { #expect(StreamBreak(failure) == kind, "\(failure)") }
    }

    @Test func `only a refused certificate is a separate cause`() {
        let causes: [(ConnectionFailure, CloseCause)] = [
            (.tls(.certificateRefused("unknown ca")), .certificateRefused),
            (.closedByPeer, .other), (.timedOut, .other), (.goAway(.noError), .other),
        ]
        for (failure, cause) in causes { #expect(CloseCause(failure) == cause, "\(failure)") }
    }
}
