import Delivery
import KafkaIO
import Shard
import Testing
import Vocabulary

@Suite struct CurrentFaultsTests {
    private static let route = Route(credential: 0, environment: .production)
    private static let other = Route(credential: 1, environment: .production)
    private static let down = KafkaError(code: .allBrokersDown, text: "2/2 brokers are down")
    private static let gone = KafkaError(code: .unknownTopicOrPartition, text: "gone")
    private static let forbidden = KafkaError(code: .topicAuthorizationFailed, text: "forbidden")
    private static let late = KafkaError(code: .messageTimedOut, text: "late")

    private func at(_ seconds: Int64) -> Instant {
        Instant(nanoseconds: 0) + .seconds(seconds)
    }

    @Test func `a Kafka error is reported for a minute, or until Kafka works`() {
        var faults = CurrentFaults()
        #expect(faults.kafka(now: at(0)) == nil)
        faults.kafkaFailed(Self.down, at: at(0))
        #expect(faults.kafka(now: at(59)) == "_ALL_BROKERS_DOWN: 2/2 brokers are down")
        #expect(faults.kafka(now: at(60)) == nil)
        faults.kafkaFailed(Self.down, at: at(70))
        faults.kafkaWorked()
        #expect(faults.kafka(now: at(71)) == nil)
    }

    @Test func `a refused record is news once a minute, and a problem until one is accepted`() {
        var faults = CurrentFaults()
        func isNews(_ publication: Publication, _ error: KafkaError, at second: Int64) -> Bool {
            faults.recordRefused(publication, to: "t", error, at: at(second))
        }
        #expect(isNews(.outcome, Self.down, at: 0))
        #expect(!isNews(.outcome, Self.down, at: 59))
        #expect(isNews(.outcome, Self.late, at: 60))
        #expect(isNews(.deadLetter, Self.late, at: 60))
        #expect(isNews(.outcome, Self.late, at: 120))
        let again = KafkaError(code: Self.late.code, text: "another wording")
        #expect(!isNews(.outcome, again, at: 120))
        #expect(!isNews(.outcome, Self.late, at: 120))
        #expect(faults.kafka(now: at(121)) == "t: _MSG_TIMED_OUT: late")
        faults.recordTaken(.outcome)
        #expect(faults.kafka(now: at(121)) == nil)
        #expect(isNews(.outcome, Self.late, at: 122))
        // An error of the whole client takes precedence.
        faults.kafkaFailed(Self.down, at: at(122))
        #expect(faults.kafka(now: at(122)) == "_ALL_BROKERS_DOWN: 2/2 brokers are down")
    }

    @Test func `a missing topic is news once, and a problem if the shard has no other topic`() {
        var faults = CurrentFaults()
        let (one, other) = (PartitionID(index: 0), PartitionID(index: 1))
        func isNews(_ partition: PartitionID, _ error: KafkaError, at second: Int64) -> Bool {
            faults.partitionRefused(
                partition,
                named: "t[\(partition.index)]",
                error,
                at: at(second)
            )
        }
        #expect(!isNews(one, Self.gone, at: 0))
        faults.partitionsAssigned([one, other])
        #expect(isNews(one, Self.gone, at: 0))
        #expect(!isNews(one, Self.gone, at: 300))
        #expect(faults.kafka(now: at(300)) == nil)
        #expect(isNews(other, Self.gone, at: 301))
        #expect(faults.kafka(now: at(301)) == "t[0]: UNKNOWN_TOPIC_OR_PART: gone")
        faults.partitionTaken(other)
        #expect(faults.kafka(now: at(301)) == nil)
        #expect(isNews(other, Self.forbidden, at: 302))
        #expect(faults.kafka(now: at(302)) == "t[1]: \(Self.forbidden)")
        #expect(faults.kafka(now: at(362)) == nil)
        faults.partitionsAssigned([one])
        #expect(!isNews(other, Self.gone, at: 363))
        #expect(faults.kafka(now: at(363)) == nil)
        #expect(isNews(one, Self.gone, at: 363))
        #expect(faults.kafka(now: at(363)) == "t[0]: UNKNOWN_TOPIC_OR_PART: gone")
    }

    @Test func `transactions are a problem from the first failure until one is committed`() {
        var faults = CurrentFaults()
        faults.transactionFailed(Self.late)
        #expect(faults.kafka(now: at(0)) == nil)
        faults.transactionFailed(Self.forbidden)
        faults.transactionFailed(KafkaError(code: .wrongState, text: "not now", isFatal: false))
        faults.kafkaWorked()
        #expect(faults.kafka(now: at(1)) == "transactions fail: \(Self.forbidden)")
        faults.transactionCommitted()
        #expect(faults.kafka(now: at(2)) == nil)
    }

    @Test func `failures of requests sent with a replaced key do not count for the new one`() {
        var faults = CurrentFaults()
        let sandbox = Route(credential: 0, environment: .sandbox)
        func isNews(_ route: Route, _ reason: String, sentAt second: Int64) -> Bool {
            faults.credentialFailed(route, reason, sentAt: at(second), now: at(3))
        }
        #expect(isNews(Self.route, "a", sentAt: 0))
        #expect(!isNews(Self.route, "a", sentAt: 1))
        #expect(isNews(Self.route, "b", sentAt: 2))
        #expect(isNews(sandbox, "a", sentAt: 2))
        #expect(isNews(Self.other, "a", sentAt: 2))
        faults.credentialReplaced(0, at: at(3))
        #expect(faults.credential(of: Self.other, now: at(3)) == "a")
        #expect(!isNews(Self.route, "b", sentAt: 2))
        #expect(faults.credential(of: Self.route, now: at(3)) == nil)
        #expect(isNews(Self.route, "b", sentAt: 3))
    }

    @Test func `a refusal of the credential is forgotten, and news if it comes again`() {
        var faults = CurrentFaults()
        func isNews(at second: Int64) -> Bool {
            faults.credentialFailed(Self.route, "a", sentAt: at(second), now: at(second))
        }
        #expect(isNews(at: 0))
        #expect(!isNews(at: 4499))
        #expect(faults.credential(of: Self.route, now: at(8998)) == "a")
        #expect(faults.credential(of: Self.route, now: at(8999)) == nil)
        #expect(isNews(at: 8999))
    }

    @Test
    func `the last failure is shown until the endpoint recovers, despite successes`() {
        var faults = CurrentFaults()
        faults.endpointFailed(Self.route, "503")
        faults.connectionFailed(Self.route, "refused")
        faults.endpointFailed(Self.other, "500")
        #expect(faults.failures == [Self.route: "refused", Self.other: "500"])
        faults.credentialWorked(Self.route)
        #expect(faults.connections.isEmpty)
        #expect(faults.failures[Self.route] == "refused")
        faults.endpointFailed(Self.route, "503")
        #expect(faults.failures[Self.route] == "503")
        faults.endpointRecovered(Self.route)
        #expect(faults.failures == [Self.other: "500"])
    }

    @Test func `a timeout is news if it is the first since an answer`() {
        var faults = CurrentFaults()
        let routes = [Self.route, Self.route, Self.other]
        #expect(routes.map { faults.requestTimedOut($0) } == [true, false, true])
        faults.requestAnswered(Self.route)
        #expect(routes.map { faults.requestTimedOut($0) } == [true, false, false])
    }

    @Test func `a run of unanswered requests is news once, and a problem for a while`() {
        var faults = CurrentFaults()
        let news = (0..<12).map { faults.requestUnserved(Self.route, at: at(Int64($0))) }
        #expect(news.firstIndex(of: true) == 9 && news.count { $0 } == 1)
        #expect(faults.isUnserved(Self.route, now: at(130)))
        #expect(!faults.isUnserved(Self.route, now: at(131)), "no more requests are sent")
        #expect(!faults.isUnserved(Self.other, now: at(12)))
        faults.requestAnswered(Self.route)
        #expect(!faults.isUnserved(Self.route, now: at(12)))
        let again = (0..<10).map { _ in faults.requestUnserved(Self.route, at: at(20)) }
        #expect(again.last == true)
    }
}
