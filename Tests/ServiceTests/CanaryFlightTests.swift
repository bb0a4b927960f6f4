import EventCodec
import KafkaIO
import Service
import Telemetry
import Testing
import Vocabulary

/// The result that the canary reports for one of its events.
@Suite struct CanaryFlightTests {
    enum Step: Sendable {
        case delivered
        case refused
        /// An outcome of this event, such as `accepted`, and its reason.
        case outcome(String, String?)
        case value(String?)
        case seconds(Int)
    }

    private static let start = Instant(nanoseconds: 1_000_000_000)
    private static let refusal = KafkaError(code: .init(rawValue: 29), text: "not authorized")

    private static func flight() throws -> CanaryFlight {
        let plan = CanaryPlan(
            topic: KafkaTopic("notifications"),
            bundleID: "com.example.App",
            deviceToken: try #require(DeviceToken("00FF")),
            interval: .seconds(60)
        )
        return CanaryFlight(plan, at: start, wallClock: Timestamp(milliseconds: 1_800_000_000_000))
    }

    private static func landing(_ steps: [Step]) throws -> (CanaryFlight, CanaryFlight.Landing?) {
        var flight = try Self.flight()
        var now = start
        for step in steps {
            switch step {
            case .delivered: flight.delivered(nil)
            case .refused: flight.delivered(refusal)
            case .outcome(let kind, let reason):
                let reason = reason.map { #""\#($0)""# } ?? "null"
                let text =
                    #"{"event_id":"\#(flight.eventID)","outcome":"\#(kind)","reason":\#(reason)}"#
                flight.read(Array(text.utf8), now: now)
            case .value(let text): flight.read(text.map { Array($0.utf8) }, now: now)
            case .seconds(let count):
                now = now + .seconds(count)
                flight.timeAdvanced(now: now)
            }
        }
        return (flight, flight.landing)
    }

    @Test(
        arguments: [
            ([.delivered, .seconds(2), .outcome("accepted", nil)], .accepted(after: .seconds(2))),
            // The outcome may be read before the report of its event.
            ([.seconds(2), .outcome("accepted", nil), .delivered], .accepted(after: .seconds(2))),
            (
                [.delivered, .outcome("unregistered", "Unregistered")],
                .failed(.notAccepted, cause: "unregistered: Unregistered")
            ),
            ([.refused, .seconds(60)], .failed(.kafka, cause: "\(refusal)")),
            ([.delivered, .seconds(59)], nil),
            // Outcomes of other events, tombstones, and text that is not JSON.
            (
                [
                    .value(#"{"event_id":"other","outcome":"accepted"}"#), .value(nil),
                    .value("{"), .value("[]"), .seconds(59),
                ], nil
            ),
            // A late outcome or report changes nothing.
            (
                [.refused, .outcome("accepted", nil), .seconds(60)],
                .failed(.kafka, cause: "\(refusal)")
            ),
        ] as [([Step], CanaryFlight.Landing?)]
    )
    func `the first conclusive result counts`(
        steps: [Step],
        landing: CanaryFlight.Landing?
    ) throws {
        #expect(try Self.landing(steps).1 == landing)
    }

    @Test func `the failure without an outcome depends on whether Kafka has the event`() throws {
        let (written, noOutcome) = try Self.landing([.delivered, .seconds(60)])
        #expect(noOutcome == .failed(.noOutcome, cause: "no outcome of \(written.eventID)"))
        let (unwritten, silence) = try Self.landing([.seconds(60)])
        let cause = "no broker has acknowledged \(unwritten.eventID)"
        #expect(silence == .failed(.kafka, cause: cause))
    }

    @Test func `the service accepts the event, and it expires when the canary stops waiting`()
        throws
    {
        let flight = try Self.flight()
        var record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: flight.event
        )
        var decoder = EventDecoder()
        let decoded = decoder.decode(&record, from: KafkaTopic("notifications"))
        guard case .event(let event) = decoded else {
            Issue.record("\(decoded)")
            return
        }
        #expect("\(event.id)" == flight.eventID)
        #expect(event.pushType == .background)
        #expect(event.isExpired(at: Timestamp(milliseconds: 1_800_000_061_000)))
        #expect(!event.isExpired(at: Timestamp(milliseconds: 1_800_000_059_000)))
        #expect(try flight.eventID != Self.flight().eventID)
    }
}
