import APNsRules
import Credentials
import Delivery
import HTTP2IO
import KafkaIO
import Log
import Shard
import SystemIO
import Telemetry
import Testing
import Vocabulary

/// How the parts' values are counted, logged and shown.
@Suite struct ShardObserverTests {
    private static let connection = ConnectionID(rawValue: 7)
    private static let unstable = KafkaError(code: .unstableOffsetCommit, text: "wait")
    private static let gone = KafkaError(code: .offsetOutOfReach, text: "gone")

    /// The start of the line, after its time; nil if there is no line.
    struct Said: Sendable {
        var news: KafkaNews
        var level: String?
        var text = ""
    }

    private static let partition = PartitionID(index: 0)

    /// The log contains the offsets 10 to 20.
    private static func lost(
        _ offset: Offset,
        _ policy: LostOffset.Policy,
        level: String,
        text: String
    ) -> Said {
        let lost = LostOffset(offset, in: 10..<20, oldestBefore: nil, policy)
        return Said(news: .offsetLost(partition, lost), level: level, text: text)
    }

    private static let kafkaNews = [
        Said(news: .partitionsAssigned([partition]), level: "info", text: "partitions assigned"),
        Said(
            news: .partitionsRevoked([partition], lost: false),
            level: "info",
            text: "partitions revoked"
        ),
        Said(
            news: .partitionsRevoked([partition], lost: true),
            level: "info",
            text: "partitions lost"
        ),
        Said(news: .positionsFetched),
        Said(
            news: .positionsUnknown([], PartsBench.noKafka),
            level: "warning",
            text: "committed offsets could not be read"
        ),
        // An open transaction is waited for.
        Said(
            news: .positionsUnknown([partition], unstable),
            level: "debug",
            text: "committed offsets could not be read"
        ),
        Said(news: .commitFinished([])),
        Said(
            news: .commitFinished([
                CommitResult(partition: partition, error: PartsBench.noKafka)
            ]),
            level: "warning",
            text: "offset not committed"
        ),
        Said(
            news: .commitMetadataRefused(limit: 99),
            level: "warning",
            text: "the broker accepts less commit metadata"
        ),
        Said(
            news: .partitionUnreadable(partition, PartsBench.noKafka),
            level: "warning",
            text: "partition cannot be read"
        ),
        Said(
            news: .partitionDamaged(partition, gone, position: Offset(3)),
            level: "error",
            text: "damaged batch or gap"
        ),
        lost(Offset(5), .end, level: "error", text: "events were deleted before they were read"),
        lost(Offset(15), .end, level: "info", text: "reading continues there"),
        lost(Offset(25), .end, level: "error", text: "reading continues at the log's end"),
        lost(
            Offset(25),
            .beginning,
            level: "error",
            text: "reading the partition from its beginning"
        ),
        Said(
            news: .offsetLost(partition, LostOffset(Offset(5), in: 0..<2, oldestBefore: 1, .end)),
            level: "error",
            text: "topic was recreated"
        ),
        Said(
            news: .logUnknown(partition, PartsBench.noKafka),
            level: "warning",
            text: "log offsets could not be fetched"
        ),
        // A retry topic that was never read is not an error.
        Said(
            news: .partitionUnplaced(partition, .beginning),
            level: "info",
            text: "reading the partition from its beginning"
        ),
        Said(
            news: .partitionUnplaced(partition, .end),
            level: "info",
            text: "reading the partition from its end"
        ),
        Said(
            news: .partitionSilent(
                partition,
                position: Offset(9),
                end: Offset(3),
                restarts: true
            ),
            level: "error",
            text: "partition is no longer fetched"
        ),
        Said(
            news: .partitionSilent(partition, position: nil, end: Offset(3), restarts: false),
            level: "error",
            text: "partition is not fetched"
        ),
        Said(
            news: .partitionReplaced(partition, position: nil),
            level: "error",
            text: "topic was recreated"
        ),
        Said(
            news: .failed(PartsBench.noKafka),
            level: "warning",
            text: "Kafka error"
        ),
        Said(
            news: .logged(KafkaLogLine(level: 4, facility: "FAIL", text: "no")),
            level: "info",
            text: "librdkafka log"
        ),
        // A property that only one of the two clients knows.
        Said(
            news: .logged(KafkaLogLine(level: 4, facility: "CONFWARN", text: "no")),
            level: "debug",
            text: "librdkafka log"
        ),
        Said(
            news: .logged(KafkaLogLine(level: 7, facility: "FETCH", text: "so")),
            level: "debug",
            text: "librdkafka log"
        ),
    ]

    @Test(arguments: kafkaNews)
    func `each kind of Kafka news has its log line`(said: Said) throws {
        let bench = try PartsBench(from: .debug)
        var observer = bench.observer
        observer.saw(said.news, bench.partitions, now: bench.now)
        let lines = bench.logged.lines
        #expect(lines.count == (said.level == nil ? 0 : 1))
        guard let level = said.level, let line = lines.first else { return }
        #expect(line.contains(" \(level) ") && line.contains(said.text), "\(line)")
    }

    @Test func `an error is shown as a Kafka problem until Kafka works again`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        func trouble() -> String? {
            observer.show(&bench.engine, bench.status, now: bench.now)
            return bench.control.status.kafkaTrouble
        }
        let failures: [KafkaNews] = [
            .positionsUnknown([], PartsBench.noKafka),
            .commitFinished([
                CommitResult(partition: bench.partition, error: PartsBench.noKafka)
            ]),
            .partitionUnreadable(bench.partition, PartsBench.noKafka),
            .logUnknown(bench.partition, PartsBench.noKafka),
            .failed(PartsBench.noKafka),
        ]
        let successes: [KafkaNews] = [
            .positionsFetched, .commitFinished([]), .partitionsAssigned([]),
        ]
        for failure in failures {
            for success in successes {
                observer.saw(failure, bench.partitions, now: bench.now)
                #expect(trouble() == PartsBench.noKafka.description, "\(failure)")
                observer.saw(success, bench.partitions, now: bench.now)
                #expect(trouble() == nil, "\(success)")
            }
        }
    }

    @Test func `a record counts by its kind if the shard took it`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        for isTaken in [true, false] {
            for framing in [RecordFraming.plain, nil] {
                for isRetry in [true, false] {
                    let record = ArrivedRecord(
                        isTaken: isTaken,
                        framing: framing,
                        metricRow: 0,
                        isRetry: isRetry
                    )
                    observer.saw(record)
                }
            }
        }
        #expect(bench.metrics.tombstones.value == 2)
        #expect(bench.metrics.returned.value == 2)
    }

    @Test func `the watchdog sees each record and each assignment`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        var seen: [UInt64] = []
        let record = ArrivedRecord(isTaken: false, framing: nil, metricRow: nil, isRetry: false)
        observer.saw(record)
        for news in [.partitionsAssigned([]), .positionsFetched] as [KafkaNews] {
            observer.show(&bench.engine, bench.status, now: bench.now)
            seen.append(bench.control.watchdogReading.progress)
            observer.saw(news, bench.partitions, now: bench.now)
        }
        observer.show(&bench.engine, bench.status, now: bench.now)
        seen.append(bench.control.watchdogReading.progress)
        #expect(seen == [1, 2, 2])
    }

    @Test func `an event has ended once the last of its records is written`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        bench.take("no event")
        let publications = bench.decide().publications
        #expect(publications.map(\.tag.publication) == [.outcome, .deadLetter])
        for (index, publication) in publications.enumerated() {
            #expect(bench.logged.lines.isEmpty)
            let record = bench.engine.published(publication.tag)
            let news = OutcomeNews.written(publication.tag.publication, record)
            observer.saw(news, bench.partitions, now: bench.now)
            #expect(bench.metrics.resultsProduced.value == 1)
            #expect(bench.metrics.endToEnd.count == UInt64(index))
        }
        let line = try #require(bench.logged.lines.first)
        #expect(line.contains("event not delivered") && line.contains("events[0]@0"), "\(line)")
    }

    /// An event arrives whose campaign has this order.
    private static func take(_ order: CampaignOrder, _ bench: PartsBench) throws {
        let campaign = try #require(CampaignName("spring"))
        var orders = CampaignOrders()
        _ = orders.set(order, for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        bench.take(
            #"{"id":"1","device_token":"AA01","bundle_id":"com.example.app","push_type":"alert","#
                + #""payload":{"aps":{"alert":"Hello"}},"campaign":"spring"}"#
        )
    }

    @Test func `an event that waits for its campaign is counted`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        try Self.take(CampaignOrder(.paused), bench)
        _ = bench.decide()
        observer.turnEnded(&bench.engine)
        #expect(bench.metrics.awaitingCampaign.value == 1)
        #expect(bench.metrics.inFlightEvents.value == 1)
    }

    @Test func `an event of a cancelled campaign has no time from end to end`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        try Self.take(CampaignOrder(.cancelled), bench)
        let publications = bench.decide().publications
        let outcomes = publications.compactMap { $0.conclusion.outcome(of: $0.arrival) }
        #expect(outcomes.map(\.kind) == [.cancelled])
        for publication in publications {
            let record = bench.engine.published(publication.tag)
            let news = OutcomeNews.written(publication.tag.publication, record)
            observer.saw(news, bench.partitions, now: bench.now)
        }
        #expect(bench.metrics.resultsProduced.value == 1)
        #expect(bench.metrics.endToEnd.count == 0)
    }

    @Test func `a record that Kafka does not accept is logged once a minute`() throws {
        let bench = try PartsBench(from: .warning)
        var observer = bench.observer
        for _ in 0..<3 {
            observer.saw(
                .notTaken(.outcome, PartsBench.noKafka),
                bench.partitions,
                now: bench.now
            )
        }
        #expect(bench.metrics.produceErrors[.outcome].value == 3)
        #expect(bench.logged.lines.count == 1)
        // A missing permission does not come back by itself.
        let denied = KafkaError(code: .topicAuthorizationFailed, text: "denied")
        observer.saw(.notTaken(.deadLetter, denied), bench.partitions, now: bench.now)
        #expect(bench.logged.lines.last?.contains(" error ") == true)
    }

    @Test func `a dropped record is counted and logged with its event's place`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        bench.take("no event")
        let letter = try #require(bench.decide().publications.last)
        let unkeyed = KafkaError(code: .invalidRecord, text: "no key")
        observer.saw(
            .dropped(.deadLetter, unkeyed, of: letter.arrival),
            bench.partitions,
            now: bench.now
        )
        #expect(bench.metrics.recordsDropped[.deadLetter].value == 1)
        let line = try #require(bench.logged.lines.last)
        #expect(
            line.contains(
                "deadLetter record dropped: refused by its topic; only the outcome says so"
            )
        )
        #expect(line.contains("events[0]@0") && line.contains("no key"), "\(line)")
    }

    @Test func `unanswered requests are counted, and a run of them is logged once`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        let id = Self.connection
        observer.requestTimedOut(on: id, PartsBench.route, now: bench.now)
        observer.requestTimedOut(on: id, PartsBench.route, now: bench.now)
        observer.requestTimedOut(on: id, nil, now: bench.now)
        #expect(bench.metrics.requestTimeouts.value == 3)
        #expect(bench.logged.lines.count == 1)
        for _ in 0..<12 { observer.streamBroke(.reset, PartsBench.route, now: bench.now) }
        #expect(bench.logged.lines.count == 2)
        #expect(bench.logged.lines.last?.contains("APNs is not answering requests") == true)
        observer.streamBroke(.lost, PartsBench.route, now: bench.now)
        #expect(bench.metrics.brokenStreams[.lost].value == 1)
    }

    @Test func `the log line for a connection's end depends on its cause`() throws {
        let farewell = Farewell(.noError, debugData: [])
        let certificate = ConnectionFailure.tls(.certificateRefused("unknown ca"))
        let ends: [(ConnectionFailure, Farewell?, isCondemned: Bool, said: String?)] = [
            (.closedHere, nil, false, nil),
            (.closedByPeer, nil, false, "APNs connection failed"),
            // It is already logged.
            (.goAway(.noError), farewell, false, nil),
            (.closedByPeer, farewell, false, "APNs connection failed"),
            (certificate, nil, true, "APNs rejected the credential"),
        ]
        for (failure, farewell, isCondemned, said) in ends {
            let bench = try PartsBench()
            var observer = bench.observer
            for _ in 0..<2 {
                observer.connectionEnded(
                    Self.connection,
                    PartsBench.route,
                    failure,
                    after: farewell,
                    isCondemned: isCondemned,
                    now: bench.now
                )
            }
            #expect(bench.metrics.connectionFailures.value == (failure == .closedHere ? 0 : 2))
            let lines = bench.logged.lines
            #expect(lines.isEmpty == (said == nil), "\(failure)")
            if let said { #expect(lines.first?.contains(said) == true, "\(failure)") }
        }
    }

    @Test func `a GOAWAY is logged by its error code, and as parking if the engine parks`() throws {
        let cases: [(HTTP2ErrorCode, isCondemned: Bool, level: String)] = [
            (.noError, false, "notice"), (.internalError, false, "warning"),
            (.noError, true, "error"),
        ]
        for (code, isCondemned, level) in cases {
            let bench = try PartsBench()
            var observer = bench.observer
            observer.goAwayCame(
                Self.connection,
                PartsBench.route,
                Farewell(code, debugData: []),
                isCondemned: isCondemned,
                now: bench.now
            )
            let line = try #require(bench.logged.lines.first)
            #expect(line.contains(" \(level) "), "\(line)")
            #expect(bench.metrics.goAways[.none].value == 1)
        }
    }

    @Test func `the status for other threads is updated ten times a second`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        var looks = 0
        for _ in 0..<100 {
            observer.turnEnded(&bench.engine)
            if observer.isLookDue(now: bench.now) {
                observer.look(at: &bench.engine, bench.status, now: bench.now)
                looks += 1
            }
            bench.pass(.milliseconds(10))
        }
        #expect(looks == 10)
        #expect(bench.metrics.assignedPartitions.value == 1)
        #expect(bench.control.status.partitions.map(\.name) == bench.partitions.partitions)
    }

    @Test func `missing committed offsets are shown as a Kafka problem after ten seconds`() throws {
        let bench = try PartsBench(transactionTimeout: .seconds(15))
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        let name = bench.partitions[bench.partition]
        bench.engine.partitionsAssigned(
            [AssignedPartition(bench.partition, named: name)],
            now: bench.now
        )
        bench.engine.storedOffsetsFetched([:], now: bench.now)
        let troubles = [9, 1, 50].map { seconds -> String? in
            bench.pass(.seconds(seconds))
            var observer = bench.observer
            observer.show(&bench.engine, bench.status, now: bench.now)
            return bench.control.status.kafkaTrouble
        }
        let texts = [10, 60].map { seconds in
            "Kafka has not returned the group's committed offsets for \(seconds) s; nothing is read until it does"
        }
        #expect(troubles == [nil] + texts)
    }

    @Test func `a stuck partition is shown as a Kafka problem`() throws {
        let bench = try PartsBench()
        var observer = bench.observer
        let status = ConsumerStatus(partitions: bench.partitions, stuck: [bench.partition])
        observer.show(&bench.engine, status, now: bench.now)
        #expect(bench.control.status.kafkaTrouble == "events[0]: cannot be read any further")
        #expect(!bench.control.status.hasEnded)
    }
}

extension PartsBench {
    var observer: ShardObserver {
        ShardObserver(settings, control: control, metrics: metrics, log: log)
    }

    var status: ConsumerStatus { ConsumerStatus(partitions: partitions) }
}
