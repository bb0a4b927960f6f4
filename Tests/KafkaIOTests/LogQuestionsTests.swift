import KafkaIO
import Testing
import Vocabulary

@Suite struct LogQuestionsTests {
    private static let first = PartitionID(index: 1)
    private static let second = PartitionID(index: 2)

    private static func time(_ milliseconds: Int64) -> Instant {
        Instant(nanoseconds: milliseconds * 1_000_000)
    }

    private func questions(_ partitions: PartitionID..., at milliseconds: Int64 = 0) -> LogQuestions
    {
        var questions = LogQuestions()
        for partition in partitions {
            questions.ask(
                partition,
                missing: Offset(7),
                oldestBefore: 3,
                now: Self.time(milliseconds)
            )
        }
        return questions
    }

    @Test func `partitions that fail together are asked about once, in one request`() {
        var questions = questions(Self.second, Self.first)
        #expect(questions.nextDeadline == Self.time(0))
        let due = questions.takeDue(now: Self.time(0))
        #expect(due == [Self.first, Self.second])
        // The partition fails again during the request, now at another offset.
        questions.ask(Self.first, missing: Offset(9), oldestBefore: nil, now: Self.time(1))
        let again = questions.takeDue(now: Self.time(1))
        #expect(again.isEmpty)
        #expect(questions.nextDeadline == nil)
        let question = questions.answered(Self.first)
        #expect(question?.offset == Offset(7))
        #expect(question?.oldestBefore == 3)
        let repeated = questions.answered(Self.first)
        #expect(repeated == nil, "the question is answered")
        #expect(questions.unanswered.isEmpty)
    }

    @Test func `a leader that does not answer is asked again with growing delays`() {
        var questions = questions(Self.first)
        var now = Self.time(0)
        var waits: [Duration] = []
        for _ in 0..<9 {
            let due = questions.takeDue(now: now)
            #expect(due == [Self.first])
            let isAsked = questions.failed(Self.first, now: now)
            #expect(isAsked)
            #expect(questions.unanswered == [Self.first])
            let next = questions.nextDeadline ?? now
            waits.append(next - now)
            now = next
        }
        #expect(waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { Duration.seconds($0) })
        let question = questions.answered(Self.first)
        #expect(question?.offset == Offset(7), "the offset is kept")
    }

    @Test func `the end of an assignment drops its questions`() {
        var questions = questions(Self.first)
        _ = questions.takeDue(now: Self.time(0))
        questions.assignmentEnded()
        let isAsked = questions.failed(Self.first, now: Self.time(1))
        #expect(!isAsked)
        let question = questions.answered(Self.first)
        #expect(question == nil)
        #expect(questions.nextDeadline == nil)
    }
}
