public import Vocabulary

/// The last answers of an endpoint, and how many devices it failed.
///
/// A device counts as one failure however often it failed: one that APNs chokes on, tried again and
/// again, says nothing about the endpoint.
public struct RecentAnswers: Hashable, Sendable {
    private struct Answer: Hashable {
        let at: Instant
        /// Nil: a good answer.
        let failedDevice: KeyedHash?
    }

    private let maxCount: Int
    private let maxAge: Duration
    /// A ring: `next` is the oldest once it is full.
    private var answers: [Answer] = []
    private var next = 0

    /// Nothing yet; at most so many answers will count, and none that is older.
    public init(maxCount: Int, maxAge: Duration) {
        self.maxCount = maxCount
        self.maxAge = maxAge
    }

    public mutating func succeeded(now: Instant) {
        append(Answer(at: now, failedDevice: nil))
    }

    public mutating func failed(_ device: KeyedHash, now: Instant) {
        let isKnown = answers.contains { $0.failedDevice == device && isRecent($0, now) }
        if !isKnown { append(Answer(at: now, failedDevice: device)) }
    }

    /// Devices that were failed, and answers in all.
    public func tally(now: Instant) -> (failures: Int, answers: Int) {
        answers.reduce(into: (failures: 0, answers: 0)) { tally, answer in
            guard isRecent(answer, now) else { return }
            tally.answers += 1
            if answer.failedDevice != nil { tally.failures += 1 }
        }
    }

    private func isRecent(_ answer: Answer, _ now: Instant) -> Bool { answer.at + maxAge > now }

    private mutating func append(_ answer: Answer) {
        if answers.count < maxCount {
            answers.append(answer)
        } else {
            answers[next] = answer
            next = next + 1 == maxCount ? 0 : next + 1
        }
    }
}
