import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// An engine with one assigned partition, a clock, and what the last turn sent.
struct Bench {
    static let partition = PartitionID(index: 0)
    static var table: PartitionTable {
        var table = PartitionTable()
        _ = table.intern(TopicPartition(topic: KafkaTopic("source"), partition: 0))
        return table
    }
    var engine: DeliveryEngine
    let reader: ArrivalReader
    /// Why the last `partitionComes` ignored metadata.
    var ignored: [IgnoredMetadata] = []
    /// The delivery last sent.
    var sending: DeliveryID?
    var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: 1_700_000_000_000)
    )

    init(
        attempts: Int = 5,
        isAssigned: Bool = true,
        isTransactional: Bool = false,
        seed: UInt64 = 1,
        loggingFor version: String? = nil,
        _ change: (inout EngineSettings) -> Void = { _ in }
    ) throws {
        var settings = try EngineSettings(
            credentials: [
                CredentialScope(
                    name: "news",
                    bundleIDs: ["com.example.News"],
                    defaultEnvironment: .production
                )
            ],
            retry: RetryPolicy(attempts: attempts),
            transactionTimeout: isTransactional ? .seconds(15) : nil
        )
        change(&settings)
        engine = DeliveryEngine(settings: settings, seed: seed, loggingFor: version)
        reader = ArrivalReader(settings)
        guard isAssigned else { return }
        engine.partitionsAssigned([Self.partition], of: Self.table)
        engine.storedOffsetsFetched([Self.partition: nil], now: now)
        _ = turn()
        engine.connectionOpened(ConnectionID(rawValue: 1), maxConcurrentStreams: 100, now: now)
    }

    mutating func turn(after duration: Duration = .zero) -> TurnDecision {
        now.instant = now.instant + duration
        now.timestamp.milliseconds += duration.milliseconds
        let turn: TurnDecision = engine.turnEnded(now: now)
        sending = Self.sent(turn) ?? sending
        return turn
    }

    /// Delivers a record and ends the turn.
    mutating func arrive(_ offset: Int64, _ change: (inout Event) -> Void = { _ in }) throws
        -> TurnDecision
    {
        // Each event has its own device.
        let token = try #require(DeviceToken(String(0x1000 + offset, radix: 16)))
        var event = Event(
            id: "e\(offset)",
            deviceToken: token,
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2
        )
        change(&event)
        return arrive(offset, .event(event))
    }

    mutating func arrive(_ offset: Int64, _ decoded: DecodedRecord) -> TurnDecision {
        hear(offset, decoded)
        return turn()
    }

    /// Delivers a record, and does not end the turn.
    mutating func hear(
        _ offset: Int64,
        _ decoded: DecodedRecord,
        timestamp: Timestamp? = nil,
        history: RetryHistory? = nil
    ) {
        let record = Record(
            partition: Self.partition,
            offset: Offset(offset),
            timestamp: timestamp,
            key: nil,
            value: decoded == .tombstone ? nil : [0x7B, 0x7D]
        )
        engine.recordArrived(record, decoded, history: history, by: reader, now: now)
    }

    /// The delivery that the turn sends.
    static func sent(_ turn: TurnDecision) -> DeliveryID? { turn.sends.first?.delivery }

    /// The first outcome that the turn publishes, and its records.
    func published(_ turn: TurnDecision) -> (Outcome, Publications)? {
        guard let outcome = turn.outcomes.first, let records = turn.published.first?.records
        else { return nil }
        return (outcome, records)
    }

    static func commits(_ turn: TurnDecision) -> [PartitionCommit] { turn.commits ?? [] }
}

@Suite struct DeliveryEngineTests {
    @Test(arguments: [200, 204, 299])
    func `every accepted status is reported as 200, as documented`(status: Int) throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: status), for: id, now: bench.now)
        let (outcome, _) = try #require(bench.published(bench.turn()))
        #expect(outcome.kind == .accepted)
        #expect(outcome.httpStatus == 200)
    }

    @Test func `a new producer gets records of the same turn only once`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        bench.engine.producerReplaced()
        let published = bench.turn().publications.map(\.tag)
        #expect(published == [PublicationTag(id, .outcome)])
    }

    @Test(
        arguments: [
            (200, nil, OutcomeKind.accepted, TokenAction.keep, Publications([.outcome])),
            (410, .unregistered, .unregistered, .remove, [.outcome, .tokenStatus]),
            (400, .badDeviceToken, .rejected, .checkEnvironment, [.outcome, .tokenStatus]),
            (400, .deviceTokenNotForTopic, .rejected, .checkTopic, [.outcome, .tokenStatus]),
            (400, .badCollapseID, .rejected, .keep, [.outcome]),
            (403, .invalidProviderToken, .undeliverable, .keep, [.outcome, .deadLetter]),
        ] as [(Int, APNsReason?, OutcomeKind, TokenAction, Publications)]
    )
    func `a final answer becomes one outcome`(
        status: Int,
        reason: APNsReason?,
        kind: OutcomeKind,
        tokenAction: TokenAction,
        publications: Publications
    ) throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let answer = APNsAnswer(status: status, reason: reason.map(Reason.apns))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        let (outcome, published) = try #require(bench.published(bench.turn()))
        #expect(outcome.kind == kind)
        #expect(outcome.tokenAction == tokenAction)
        #expect(outcome.httpStatus == status)
        #expect(outcome.attempts == 1)
        #expect(published == publications)
    }

    @Test func `an offset is committed only when every record of the outcome is acknowledged`()
        throws
    {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(7)))
        // The group's own position, so that a restart does not start elsewhere.
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        bench.engine.commitFinished(failed: [])
        let answer = APNsAnswer(status: 410, reason: .apns(.unregistered))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        _ = bench.turn(after: .seconds(1))
        bench.engine.published(PublicationTag(id, .outcome))
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        bench.engine.published(PublicationTag(id, .tokenStatus))
        let commits = Bench.commits(bench.turn(after: .seconds(1)))
        #expect(commits.map(\.offset) == [Offset(8)])
    }

    @Test func `a retry waits, keeps its apns-id, and counts`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let apnsID = bench.engine.delivery(id)?.event?.apnsID
        bench.engine.responseArrived(APNsAnswer(status: 503), for: id, now: bench.now)
        #expect(Bench.sent(bench.turn()) == nil)
        let again = Bench.sent(bench.turn(after: .milliseconds(200)))
        #expect(again == id)
        #expect(bench.engine.delivery(id)?.attempts == 2)
        #expect(bench.engine.delivery(id)?.event?.apnsID == apnsID)
    }

    @Test func `when all attempts are used, the last answer is the reason`() throws {
        var bench = try Bench(attempts: 2)
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let answer = APNsAnswer(status: 503, reason: .apns(.serviceUnavailable))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        _ = bench.turn(after: .seconds(1))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        let (outcome, published) = try #require(bench.published(bench.turn()))
        #expect(outcome.kind == .undeliverable)
        #expect(outcome.reason == .apns(.serviceUnavailable))
        #expect(outcome.httpStatus == 503)
        #expect(outcome.attempts == 2)
        #expect(published == [.outcome, .deadLetter])
    }

    @Test func `an unprocessed request is sent again at once and is not counted`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.streamBroke(id, .unprocessed, now: bench.now)
        #expect(Bench.sent(bench.turn()) == id)
        #expect(bench.engine.delivery(id)?.attempts == 1)
    }

    @Test func `an expired provider token is replaced once, then the event ends`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let sentAt = bench.now.instant
        let answer = APNsAnswer(status: 403, reason: .apns(.expiredProviderToken))
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        let actions = bench.turn()
        #expect(actions.tokenRefreshes.map(\.sentAt) == [sentAt])
        // The connection may be stuck with the old one.
        #expect(actions.connections.contains(.drain(ConnectionID(rawValue: 1))))
        let next = ConnectionID(rawValue: 2)
        #expect(actions.sends.isEmpty)
        let later = bench.turn(after: .seconds(2))
        #expect(
            later.connections.contains { if case .connect(next, _) = $0 { true } else { false } }
        )
        bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
        #expect(Bench.sent(bench.turn()) == id)
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        #expect(bench.published(bench.turn())?.0.kind == .undeliverable)
    }

    @Test func `an attempt without an answer is cancelled and tried again`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let actions = bench.turn(after: .seconds(30))
        #expect(actions.cancels.map(\.delivery) == [id])
        // The late answer belongs to no delivery.
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        #expect(bench.published(bench.turn()) == nil)
    }

    @Test(arguments: [
        (expiration: 0 as Int64, isSent: true), (1_700_000_001, true), (1_700_000_000, false),
    ])
    func `an expired event is not sent, and 0 is not a time`(expiration: Int64, isSent: Bool) throws
    {
        var bench = try Bench()
        let actions = try bench.arrive(0) { $0.expiration = expiration }
        #expect((Bench.sent(actions) != nil) == isSent)
        #expect((bench.published(actions)?.0.kind == .expired) == !isSent)
    }

    @Test func `an event without a credential goes to the dead letters`() throws {
        var bench = try Bench()
        let actions = try bench.arrive(0) { $0.destination = .bundleID("com.example.Other") }
        let (outcome, published) = try #require(bench.published(actions))
        #expect(outcome.reason == .local(.noCredential))
        #expect(published.contains(.deadLetter))
    }

    @Test(arguments: PushType.allCases, [true, false])
    func `push types that need a provider token are not sent with a certificate`(
        pushType: PushType,
        hasCertificate: Bool
    ) throws {
        var bench = try Bench { $0.credentials[0].isProvenByHandshake = hasCertificate }
        let actions = try bench.arrive(0) { $0.pushType = pushType }
        let isRefused = hasCertificate && [.location, .liveactivity].contains(pushType)
        #expect((Bench.sent(actions) == nil) == isRefused)
        guard isRefused else { return }
        let (outcome, published) = try #require(bench.published(actions))
        #expect(outcome.kind == .undeliverable)
        #expect(outcome.reason == .local(.providerTokenRequired))
        #expect(outcome.tokenAction == .keep)
        #expect(published.contains(.deadLetter))
    }

    @Test func `a tombstone is settled without an outcome`() throws {
        var bench = try Bench()
        #expect(bench.published(bench.arrive(0, .tombstone)) == nil)
        #expect(bench.engine.counts.tombstones == 1)
        #expect(bench.engine.inFlightEvents == 0)
    }

    @Test func `a record that Kafka refused is produced again until it is accepted`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.publicationFailed(PublicationTag(id, .outcome), now: bench.now)
        #expect(bench.turn(after: .seconds(1)).tags == [PublicationTag(id, .outcome)])
        bench.engine.published(PublicationTag(id, .outcome))
        #expect(bench.engine.counts.terminal == 1)
    }

    @Test func `shutdown accepts nothing new, waits for events in flight, commits and leaves`()
        throws
    {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.commitFinished(failed: [])
        bench.engine.shutdownRequested(now: bench.now)
        #expect(bench.turn(after: .seconds(1)).group.contains(.pause([Bench.partition])))
        #expect(try bench.arrive(1).isNothing)
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.published(PublicationTag(id, .outcome))
        let commits = Bench.commits(bench.turn(after: .seconds(1)))
        #expect(commits.map(\.offset) == [Offset(1)])
        bench.engine.commitFinished(failed: [])
        #expect(bench.turn().group == [.leave])
        #expect(bench.engine.hasLeftGroup)
    }

    @Test func `a shutdown before any assignment leaves at once`() throws {
        var bench = try Bench(isAssigned: false)
        bench.engine.shutdownRequested(now: bench.now)
        #expect(bench.turn().group.contains(.leave))
    }

    @Test func `a late outcome of a lost assignment moves no offset`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.commitFinished(failed: [])
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        #expect(bench.turn().group.contains(.unassign))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.published(PublicationTag(id, .outcome))
        #expect(Bench.commits(bench.turn(after: .seconds(1))).isEmpty)
        #expect(bench.engine.counts.terminal == 1)
    }
}
