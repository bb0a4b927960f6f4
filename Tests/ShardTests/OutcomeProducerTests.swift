import Delivery
import KafkaIO
import Shard
import SystemIO
import Testing
import Vocabulary

/// The effect of a producer's events, with a producer that reaches no broker.
@Suite struct OutcomeProducerTests {
    private static let tooLarge = KafkaError(code: .messageSizeTooLarge, text: "large")
    private static let tooLargeForSegment = KafkaError(code: .recordListTooLarge, text: "large")
    private static let purged = KafkaError(code: .purgedInQueue, text: "purged")

    /// A published record whose result is not known yet.
    private final class Published {
        let bench: PartsBench
        let wakeup: Wakeup
        let producer: Producer
        let tags: [PublicationTag]

        init(transactionTimeout: Duration? = nil) throws {
            bench = try PartsBench(transactionTimeout: transactionTimeout)
            wakeup = try Wakeup()
            producer = try bench.settings.kafka.makeProducer(
                shard: 0,
                wakeup: wakeup.fileDescriptor
            )
            bench.take("no event")
            tags = bench.decide().publications.map(\.tag)
        }

        deinit { producer.abandon() }

        var outcomes: OutcomeProducer {
            OutcomeProducer(
                bench.settings,
                shard: 0,
                producer,
                wakeup: wakeup,
                workerWakeup: wakeup
            )
        }
    }

    private func word(_ news: OutcomeNews?) -> String {
        switch news {
        case nil: "nothing"
        case .written(let publication, let record):
            "\(publication) written" + (record?.isLast == true ? ", the last" : "")
        case .taken(let publication): "\(publication) taken"
        case .notTaken(let publication, _): "\(publication) not taken"
        case .batchRefused(let publication, _): "\(publication) in a refused batch"
        case .dropped(let publication, _, _, let record):
            "\(publication) dropped" + (record?.isLast == true ? ", the last" : "")
        case .tallyTaken: "tally taken"
        case .tallyRefused: "tally refused"
        case .producerFailed(_, let isReplaced): isReplaced ? "replaced" : "failed"
        case .transactionCallSucceeded, .transactionFailed, .statistics, .failed, .logged: "other"
        }
    }

    /// The errors that the reports of the outcome and of the dead letter carry.
    struct Reports: Sendable {
        var outcome: KafkaError?
        var deadLetter: KafkaError?
        var words: [String]
        /// The records that are produced again.
        var again: [Publication] = []
    }

    @Test(arguments: [
        Reports(words: ["outcome written", "deadLetter written, the last"]),
        Reports(
            outcome: PartsBench.noKafka,
            words: ["outcome not taken", "deadLetter written"],
            again: [.outcome]
        ),
        Reports(
            outcome: tooLarge,
            words: ["outcome in a refused batch", "deadLetter written"],
            again: [.outcome]
        ),
        Reports(
            deadLetter: tooLarge,
            words: ["outcome written", "deadLetter in a refused batch"],
            again: [.deadLetter]
        ),
        Reports(
            deadLetter: tooLargeForSegment,
            words: ["outcome written", "deadLetter in a refused batch"],
            again: [.deadLetter]
        ),
        Reports(
            deadLetter: PartsBench.noKafka,
            words: ["outcome written", "deadLetter not taken"],
            again: [.deadLetter]
        ),
    ])
    func `a delivery report settles a record or causes it to be produced again`(reports: Reports)
        throws
    {
        let published = try Published()
        let bench = published.bench
        var outcomes = published.outcomes
        var words: [String] = []
        for (tag, error) in zip(published.tags, [reports.outcome, reports.deadLetter]) {
            let event = ProducerEvent.deliveryReported(tag: tag.rawValue, error)
            words.append(word(outcomes.happened(event, &bench.engine, now: bench.now)))
        }
        #expect(words == reports.words)
        bench.pass(.seconds(60))
        #expect(bench.decide().publications.map(\.tag.publication) == reports.again)
        #expect(bench.engine.counts.terminal == (reports.again.isEmpty ? 1 : 0))
    }

    /// Kafka's answer to a batch, and then to the record by itself.
    struct Verdict: Sendable {
        var publication: Publication
        var error: KafkaError.Code
        var word: String
        var isProducedAgain = false
    }

    @Test(arguments: [
        Verdict(
            publication: .outcome,
            error: .messageSizeTooLarge,
            word: "outcome not taken",
            isProducedAgain: true
        ),
        Verdict(
            publication: .deadLetter,
            error: .messageSizeTooLarge,
            word: "deadLetter dropped"
        ),
        // It has no key, but its topic is compacted.
        Verdict(publication: .deadLetter, error: .invalidRecord, word: "deadLetter dropped"),
        Verdict(
            publication: .outcome,
            error: .invalidRecord,
            word: "outcome not taken",
            isProducedAgain: true
        ),
        // The clocks may be corrected.
        Verdict(
            publication: .deadLetter,
            error: .invalidTimestamp,
            word: "deadLetter not taken",
            isProducedAgain: true
        ),
    ])
    func `only a record that is refused by itself is dropped`(verdict: Verdict) throws {
        let published = try Published()
        let bench = published.bench
        var outcomes = published.outcomes
        let publication = verdict.publication
        let tag = try #require(published.tags.first { $0.publication == publication })
        let error = KafkaError(code: verdict.error, text: "no")
        let report = ProducerEvent.deliveryReported(tag: tag.rawValue, error)
        let ofBatch = word(outcomes.happened(report, &bench.engine, now: bench.now))
        #expect(ofBatch == "\(publication) in a refused batch")
        bench.pass(.seconds(60))
        let again = try #require(bench.decide().publications.first { $0.tag == tag })
        let source = bench.partitions[bench.partition]
        let news = outcomes.publish(again, source: source, &bench.engine, now: bench.now)
        #expect(word(news) == "nothing")
        #expect(published.producer.outstanding == 0, "it has its own producer")
        let ofRecord = word(outcomes.happened(report, &bench.engine, now: bench.now))
        #expect(ofRecord == verdict.word)
        bench.pass(.seconds(60))
        let isProducedAgain = bench.decide().publications.contains { $0.tag == tag }
        #expect(isProducedAgain == verdict.isProducedAgain)
    }

    @Test func `a record in an open transaction is accepted but not yet written`() throws {
        let published = try Published(transactionTimeout: .seconds(60))
        let bench = published.bench
        var outcomes = published.outcomes
        defer { outcomes.stop() }
        let tag = PublicationTag(DeliveryID(rawValue: 1), .outcome).rawValue
        let events: [ProducerEvent] = [
            .deliveryReported(tag: tag, nil), .deliveryReported(tag: tag, Self.purged),
            .deliveryReported(tag: tag, PartsBench.noKafka),
        ]
        let words = events.map { event in
            word(outcomes.happened(event, &bench.engine, now: bench.now))
        }
        #expect(words == ["outcome taken", "nothing", "outcome not taken"])
    }

    @Test func `a failed producer is replaced, and unwritten records are produced again`() throws {
        let published = try Published()
        let bench = published.bench
        var outcomes = published.outcomes
        let fatal = KafkaError(code: .allBrokersDown, text: "down", isFatal: true)
        let words = (0..<2).map { _ in
            word(outcomes.happened(.failed(fatal), &bench.engine, now: bench.now))
        }
        #expect(words == ["replaced", "nothing"])
        #expect(outcomes.nextDeadline == bench.now.instant)
        #expect(bench.decide().publications.isEmpty)

        outcomes.timeAdvanced(&bench.engine, now: bench.now)
        #expect(outcomes.nextDeadline == nil && outcomes.failure == nil)
        let again = bench.decide().publications
        #expect(Set(again.map(\.tag)) == Set(published.tags))

        // The next one fails at once, too, so the one after it is delayed.
        _ = outcomes.happened(.failed(fatal), &bench.engine, now: bench.now)
        outcomes.timeAdvanced(&bench.engine, now: bench.now)
        #expect(outcomes.nextDeadline == bench.now.instant + .seconds(1))
        let source = bench.partitions[bench.partition]
        let news = outcomes.publish(again[0], source: source, &bench.engine, now: bench.now)
        #expect(word(news) == "nothing" && bench.decide().publications.isEmpty)
    }

    @Test func `a small record does not overtake a large one that the queue has no room for`()
        throws
    {
        let bench = try PartsBench()
        let wakeup = try Wakeup()
        let producer = try Producer(
            bootstrapServers: "127.0.0.1:1",
            properties: ["queue.buffering.max.kbytes": "2"],
            wakeup: wakeup.fileDescriptor
        )
        defer { producer.abandon() }
        var outcomes = OutcomeProducer(
            bench.settings,
            shard: 0,
            producer,
            wakeup: wakeup,
            workerWakeup: wakeup
        )
        bench.take(String(repeating: "x", count: 4000))
        let records = bench.decide().publications
        let small = try #require(records.first { $0.tag.publication == .outcome })
        let large = try #require(records.first { $0.tag.publication == .deadLetter })
        let source = bench.partitions[bench.partition]
        var outstanding: [Int] = []
        for record in [small, large, small] {
            _ = outcomes.publish(record, source: source, &bench.engine, now: bench.now)
            outstanding.append(producer.outstanding)
        }
        #expect(outstanding == [1, 1, 1])
        _ = outcomes.publishRefused(bench.partitions, &bench.engine, now: bench.now)
        #expect(producer.outstanding == 1)
    }

    @Test func `an error that is not fatal is only reported`() throws {
        let published = try Published()
        let bench = published.bench
        var outcomes = published.outcomes
        let events: [ProducerEvent] = [
            .failed(PartsBench.noKafka), .statistics([]),
            .logged(KafkaLogLine(level: 3, facility: "FAIL", text: "no")),
        ]
        for event in events {
            #expect(word(outcomes.happened(event, &bench.engine, now: bench.now)) == "other")
        }
        #expect(outcomes.nextDeadline == nil && outcomes.failure == nil)
    }
}
