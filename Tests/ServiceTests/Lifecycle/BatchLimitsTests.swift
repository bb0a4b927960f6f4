import KafkaIO
import Service
import Testing
import Vocabulary

/// The batch limit that follows from the topics' limits.
@Suite struct BatchLimitsTests {
    private static let source = KafkaTopic("events")
    private static let results = KafkaTopic("results")
    private static let letters = KafkaTopic("letters")
    private static let noRight = KafkaError(code: .topicAuthorizationFailed, text: "no right")
    private static let silent = KafkaError(code: .timedOut, text: "silent")

    struct Row: Sendable {
        var source: Int?
        var results: Int?
        var letters: Int?
        var smallest: Int?
        var unknown: KafkaTopic?
        var tooSmall: [KafkaTopic] = []
    }

    @Test(arguments: [
        Row(source: 100, results: 100, letters: 100, smallest: 100),
        // Results are not events.
        Row(source: 100, results: 50, letters: 100, smallest: 50),
        Row(source: 100, results: 100, letters: 99, smallest: 99, tooSmall: [letters]),
        Row(source: 10, results: 100, letters: 99, smallest: 99),
        Row(source: nil, results: 100, letters: 99, smallest: 99),
        Row(source: 100, results: nil, letters: 200, smallest: 200, unknown: results),
        Row(source: nil, results: nil, letters: nil, smallest: nil, unknown: results),
    ])
    func `the smallest limit of the written topics limits the batches`(row: Row) {
        var answers: [KafkaTopic: Result<Int, KafkaError>] = [:]
        let told = [
            (Self.source, row.source), (Self.results, row.results), (Self.letters, row.letters),
        ]
        for (topic, bytes) in told {
            answers[topic] = bytes.map { .success($0) } ?? .failure(Self.noRight)
        }
        let limits = BatchLimits(
            answers,
            written: [Self.results, Self.letters],
            keepingEvents: [Self.letters],
            sources: [Self.source],
            otherwise: Self.silent
        )
        #expect(limits.smallest?.bytes == row.smallest)
        #expect(limits.unknown?.topic == row.unknown)
        #expect(limits.unknown.map { $0.cause == Self.noRight } ?? true)
        #expect(limits.tooSmall.map(\.topic) == row.tooSmall)
    }

    @Test func `a cluster that reports no limits is named as the cause`() {
        let limits = BatchLimits(
            [:],
            written: [Self.results],
            keepingEvents: [],
            sources: [Self.source],
            otherwise: Self.silent
        )
        #expect(limits.smallest == nil)
        #expect(limits.unknown?.cause == Self.silent)
    }
}
