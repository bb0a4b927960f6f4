import EmbeddedKafka
import EventCodec
import Foundation
import KafkaIO
import Synchronization
import SystemIO
import Vocabulary

/// The course of the demo of a campaign; it blocks, so it needs its own thread.
final class CampaignRun: Sendable {
    /// Each step must be done within this time.
    private static let patience = Duration.seconds(60)
    /// If no outcome comes for so long, nothing is on its way.
    private static let silence = Duration.seconds(5)
    /// How long the pause lasts from then on.
    private static let pause = Duration.seconds(6)
    /// How long the campaign runs at its pace.
    private static let paced = Duration.seconds(5)
    /// How long repeated outcomes may take.
    private static let afterEnd = Duration.milliseconds(500)

    private let kafka: EmbeddedKafka
    private let plan: CampaignPlan
    /// The reason to stop waiting, if there is one.
    private let obstacle = Mutex<String?>(nil)
    private let hasMoved = Atomic(false)

    init(_ kafka: EmbeddedKafka, _ plan: CampaignPlan) {
        self.kafka = kafka
        self.plan = plan
    }

    /// Whether no outcome came during the pause.
    var isStill: Bool { !hasMoved.load(ordering: .relaxed) }

    /// Ends the wait, because the service has ended.
    func giveUp(_ reason: String) {
        obstacle.withLock { $0 = reason }
    }

    /// Publishes the events, gives the orders, and returns the outcomes.
    func untilEnd() throws -> CampaignLedger {
        var ledger = CampaignLedger(plan)
        let publisher = try DemoPublisher(kafka)
        let results = try TopicTap(DemoWorld.results, kafka)
        defer {
            results.end()
            publisher.end()
        }
        try publish(publisher)
        let total = plan.devices
        try read(results, into: &ledger) { $0.count >= total * 3 / 10 }
        try order(CampaignOrder(.paused), publisher, "pause", ledger)
        try checkPause(results, &ledger)
        let pace = plan.perSecond
        try order(
            CampaignOrder(.running, perSecond: Double(pace)),
            publisher,
            "resume, at \(Self.text(pace)) notifications a second",
            ledger
        )
        try watchPace(results, &ledger)
        try order(CampaignOrder(.cancelled), publisher, "cancel", ledger)
        try read(results, into: &ledger) { $0.count >= total }
        try readAll(results, into: &ledger, for: Self.afterEnd)
        return ledger
    }

    // MARK: Steps

    private func publish(_ publisher: DemoPublisher) throws {
        let events = (0..<plan.eventCount).map { (Array(plan.id($0).utf8), plan.value($0)) }
        try publisher.publish(events, to: DemoWorld.source)
        Terminal.print(
            "written to Kafka: \(Self.text(events.count)) events of the campaign "
                + "'\(CampaignPlan.campaign)', for \(Self.text(plan.devices)) devices"
        )
    }

    private func order(
        _ order: CampaignOrder,
        _ publisher: DemoPublisher,
        _ words: String,
        _ ledger: CampaignLedger
    ) throws {
        let key = Array(CampaignPlan.campaign.utf8)
        try publisher.publish([(key, order.value)], to: CampaignPlan.topic)
        Terminal.print("after \(Self.text(ledger.count)) outcomes, the order: \(words)")
    }

    private func checkPause(_ results: TopicTap, _ ledger: inout CampaignLedger) throws {
        while try readOnce(results, into: &ledger, within: Self.silence) {}
        let count = ledger.count
        Terminal.print(
            "paused: \(Self.text(count)) outcomes; what was on its way to APNs has ended"
        )
        try readAll(results, into: &ledger, for: Self.pause)
        let more = ledger.count - count
        if more > 0 { hasMoved.store(true, ordering: .relaxed) }
        Terminal.print(
            "\(Self.pause.components.seconds) seconds later: "
                + (more == 0
                    ? "still \(Self.text(count)) outcomes, so nothing moves"
                    : "NOT AS EXPECTED: \(Self.text(more)) more outcomes")
        )
    }

    private func watchPace(_ results: TopicTap, _ ledger: inout CampaignLedger) throws {
        let before = ledger.count
        try read(results, into: &ledger) { $0.count > before }
        let (first, start) = (ledger.count, SystemClock.now)
        try readAll(results, into: &ledger, for: Self.paced)
        let seconds = Double((SystemClock.now - start).milliseconds) / 1000
        let rate = Double(ledger.count - first) / seconds
        Terminal.print(
            "in \(String(format: "%.1f", seconds)) seconds: \(Self.text(ledger.count - first))"
                + " outcomes, \(Self.text(Int(rate.rounded()))) a second"
        )
    }

    // MARK: Reading outcomes

    /// Reads until the condition is met.
    private func read(
        _ results: TopicTap,
        into ledger: inout CampaignLedger,
        until isMet: (CampaignLedger) -> Bool
    ) throws {
        let end = SystemClock.now + Self.patience
        while !isMet(ledger) {
            guard SystemClock.now < end else {
                throw DemoError("only \(Self.text(ledger.count)) outcomes after a minute")
            }
            try readOnce(results, into: &ledger, within: .milliseconds(200))
        }
    }

    private func readAll(
        _ results: TopicTap,
        into ledger: inout CampaignLedger,
        for duration: Duration
    ) throws {
        let end = SystemClock.now + duration
        while SystemClock.now < end {
            try readOnce(results, into: &ledger, within: end - SystemClock.now)
        }
    }

    /// - Returns: Whether outcomes came within the time.
    @discardableResult
    private func readOnce(
        _ results: TopicTap,
        into ledger: inout CampaignLedger,
        within duration: Duration
    ) throws -> Bool {
        if let obstacle = obstacle.withLock({ $0 }) { throw DemoError(obstacle) }
        let records = try results.next(until: SystemClock.now + duration)
        for record in records { ledger.take(record.value) }
        return !records.isEmpty
    }

    private static func text(_ number: Int) -> String { CampaignDemo.text(number) }
}
