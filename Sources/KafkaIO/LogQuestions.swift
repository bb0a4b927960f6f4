public import Vocabulary

/// Which partitions' leaders to ask for the extent of their log, and when.
///
/// Unanswered requests are repeated with growing delays; reading is paused meanwhile.
public struct LogQuestions: Hashable, Sendable {
    public struct Question: Hashable, Sendable {
        /// The missing offset; nil: only the log's end is wanted.
        public let offset: Offset?
        /// The last known start offset before that.
        public let oldestBefore: Int64?
        fileprivate(set) var failures = 0
        /// Nil: a request is in progress.
        fileprivate var dueAt: Instant?
    }

    private static let backoff = Backoff(first: .milliseconds(500), longest: .seconds(30))

    private var questions: [PartitionID: Question] = [:]

    public init() {}

    // MARK: Inputs

    /// Schedules a request; does nothing if the partition has one already.
    public mutating func ask(
        _ partition: PartitionID,
        missing offset: Offset?,
        oldestBefore: Int64?,
        now: Instant
    ) {
        guard questions[partition] == nil else { return }
        questions[partition] = Question(offset: offset, oldestBefore: oldestBefore, dueAt: now)
    }

    /// The partitions whose leaders to ask now; answer each with `answered` or `failed`.
    public mutating func takeDue(now: Instant) -> [PartitionID] {
        let due = questions.filter { $0.value.dueAt.map { $0 <= now } ?? false }.keys.sorted()
        for partition in due { questions[partition]?.dueAt = nil }
        return due
    }

    /// - Returns: nil if there was no request.
    public mutating func answered(_ partition: PartitionID) -> Question? {
        questions.removeValue(forKey: partition)
    }

    /// - Returns: false if there was no request.
    public mutating func failed(_ partition: PartitionID, now: Instant) -> Bool {
        guard var question = questions[partition] else { return false }
        question.failures += 1
        question.dueAt = now + Self.backoff.ceiling(afterFailures: question.failures)
        questions[partition] = question
        return true
    }

    /// The assignment has ended; drops all requests.
    public mutating func assignmentEnded() { questions = [:] }

    // MARK: Queries

    /// The partitions whose leaders have not answered.
    public var unanswered: [PartitionID] {
        questions.filter { $0.value.failures > 0 }.keys.sorted()
    }

    /// Whether the partition's leader has been asked, or will be.
    public func concerns(_ partition: PartitionID) -> Bool { questions[partition] != nil }

    public var nextDeadline: Instant? { questions.values.compactMap(\.dueAt).min() }
}
