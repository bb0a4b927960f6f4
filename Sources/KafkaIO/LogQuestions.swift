public import Vocabulary

/// Which partitions' leaders are to be asked what their log holds, and when.
///
/// What is not answered is asked again, with growing delays; reading is paused meanwhile.
public struct LogQuestions: Hashable, Sendable {
    public struct Question: Hashable, Sendable {
        /// The offset that Kafka does not have.
        public let offset: Offset
        /// The oldest one, as last known before that.
        public let oldestBefore: Int64?
        fileprivate(set) var failures = 0
        /// Nil: the leader is being asked.
        fileprivate var dueAt: Instant?
    }

    private static let backoff = Backoff(first: .milliseconds(500), longest: .seconds(30))

    private var questions: [PartitionID: Question] = [:]

    public init() {}

    // MARK: Inputs

    /// Does nothing for a partition that is requested already.
    public mutating func ask(
        _ partition: PartitionID,
        missing offset: Offset,
        oldestBefore: Int64?,
        now: Instant
    ) {
        guard questions[partition] == nil else { return }
        questions[partition] = Question(offset: offset, oldestBefore: oldestBefore, dueAt: now)
    }

    /// The partitions whose leaders are to be asked now; `answered` or `failed` follows for each.
    public mutating func takeDue(now: Instant) -> [PartitionID] {
        let due = questions.filter { $0.value.dueAt.map { $0 <= now } ?? false }.keys.sorted()
        for partition in due { questions[partition]?.dueAt = nil }
        return due
    }

    /// - Returns: nil if nobody asked.
    public mutating func answered(_ partition: PartitionID) -> Question? {
        questions.removeValue(forKey: partition)
    }

    /// - Returns: false if nobody asked.
    public mutating func failed(_ partition: PartitionID, now: Instant) -> Bool {
        guard var question = questions[partition] else { return false }
        question.failures += 1
        question.dueAt = now + Self.backoff.ceiling(afterFailures: question.failures)
        questions[partition] = question
        return true
    }

    /// The assignment has ended, and nothing of it is to be read.
    public mutating func assignmentEnded() { questions = [:] }

    // MARK: Queries

    /// Those whose leaders did not answer.
    public var unanswered: [PartitionID] {
        questions.filter { $0.value.failures > 0 }.keys.sorted()
    }

    public var nextDeadline: Instant? { questions.values.compactMap(\.dueAt).min() }
}
