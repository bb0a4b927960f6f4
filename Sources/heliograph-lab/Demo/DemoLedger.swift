import EventCodec
import JSON
import Vocabulary

/// The outcomes of the demo's events, compared with the expected ones.
struct DemoLedger {
    struct Line {
        var event: DemoEvent
        /// In order of arrival; exactly one is correct, or one for each recipient.
        var outcomes: [JSONValue] = []
    }

    private(set) var lines: [Line]
    private var lineOfPosition: [String: Int] = [:]
    /// The number of outcomes for events that the demo did not publish.
    private(set) var strays = 0
    /// From a record's arrival in the service to its outcome.
    private(set) var latenciesMilliseconds: [Int64] = []
    private var firstReceived: Timestamp?
    private var lastCompleted: Timestamp?

    init(_ events: [DemoEvent]) {
        lines = events.map { Line(event: $0) }
    }

    // MARK: Inputs

    /// Notes the partition and offset of an event, from its record in the source topic.
    mutating func published(_ record: Record, in partition: TopicPartition) {
        let header = record.headers.last { $0.name == DemoPublisher.lineHeader }
        guard let text = header?.value, let index = Int(String(decoding: text, as: UTF8.self)),
            lines.indices.contains(index)
        else { return }
        lineOfPosition[Self.position(partition, record.offset.rawValue)] = index
    }

    mutating func outcomeArrived(_ record: Record) {
        guard let value = record.value, let outcome = try? JSONValue.parse(value),
            let source = outcome["source"], let topic = source["topic"]?.string,
            let partition = source["partition"]?.integer, let offset = source["offset"]?.integer,
            let index = lineOfPosition[
                Self.position(
                    TopicPartition(topic: KafkaTopic(topic), partition: Int32(partition)),
                    offset
                )
            ]
        else {
            strays += 1
            return
        }
        lines[index].outcomes.append(outcome)
        guard let receivedAt = Self.timestamp(outcome["received_at"]),
            let completedAt = Self.timestamp(outcome["completed_at"])
        else { return }
        latenciesMilliseconds.append(completedAt.milliseconds - receivedAt.milliseconds)
        firstReceived = min(firstReceived ?? receivedAt, receivedAt)
        lastCompleted = max(lastCompleted ?? completedAt, completedAt)
    }

    private static func timestamp(_ value: JSONValue?) -> Timestamp? {
        value?.string.flatMap { Timestamp(rfc3339: Array($0.utf8)[...]) }
    }

    // MARK: Queries

    /// From the arrival of the first record in the service to the last outcome.
    var span: Duration {
        guard let firstReceived, let lastCompleted else { return .zero }
        return .milliseconds(lastCompleted.milliseconds - firstReceived.milliseconds)
    }

    /// The number of events that must get outcomes.
    var events: Int { lines.count { !$0.isTombstone } }
    /// The number of outcomes that these events must get; it grows if an event without
    /// expectations turns out to have recipients.
    var expected: Int { lines.reduce(0) { $0 + $1.expectedCount } }
    var arrived: Int { lines.reduce(0) { $0 + $1.outcomes.count } }
    var isComplete: Bool { lines.allSatisfy(\.isComplete) }

    /// The number of outcomes of each kind.
    var kinds: [(kind: String, count: Int)] {
        var counts: [String: Int] = [:]
        for line in lines {
            for outcome in line.outcomes {
                counts[outcome["outcome"]?.string ?? "?", default: 0] += 1
            }
        }
        return counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { ($0.key, $0.value) }
    }

    /// A description of each event whose outcome is not the expected one.
    var surprises: [String] { lines.flatMap(\.surprises) }

    private static func position(_ partition: TopicPartition, _ offset: Int64) -> String {
        "\(partition)/\(offset)"
    }
}

extension DemoLedger.Line {
    var isTombstone: Bool { event.value == nil }

    /// How many outcomes the event must get.
    var expectedCount: Int {
        if isTombstone { return 0 }
        return event.expectations?.count ?? outcomes.first.map(Self.recipients(of:)) ?? 1
    }

    /// Whether everyone has an outcome, or the outcomes are about another number of recipients.
    var isComplete: Bool { isOfOtherCount || recipientsWithOutcomes.count >= expectedCount }

    /// What is not as expected.
    var surprises: [String] {
        let place = "line \(event.line)"
        if isTombstone || event.expectations == [.nothing] {
            return outcomes.isEmpty ? [] : ["\(place): a tombstone got an outcome"]
        }
        guard !outcomes.isEmpty else { return ["\(place): no outcome"] }
        guard !isOfOtherCount, outcomes.count == expectedCount,
            recipientsWithOutcomes == Set(0..<expectedCount)
        else {
            return [
                "\(place): \(outcomes.count) outcomes for \(recipientsWithOutcomes.count) "
                    + "recipients; expected \(expectedCount)"
            ]
        }
        guard let expectations = event.expectations else { return [] }
        return outcomes.sorted { Self.recipient(of: $0) < Self.recipient(of: $1) }
            .compactMap { outcome in
                let index = Self.recipient(of: outcome)
                let whose = expectations.count == 1 ? place : "\(place), recipient \(index)"
                return expectations[index].surprise(outcome).map { "\(whose): \($0)" }
            }
    }

    private var isOfOtherCount: Bool {
        outcomes.contains { Self.recipients(of: $0) != expectedCount }
    }

    private var recipientsWithOutcomes: Set<Int> { Set(outcomes.map(Self.recipient(of:))) }

    /// The index of the recipient; 0 for an event without recipients.
    private static func recipient(of outcome: JSONValue) -> Int {
        outcome["recipient"]?.integer.map { Int($0) } ?? 0
    }

    private static func recipients(of outcome: JSONValue) -> Int {
        outcome["recipients"]?.integer.map { Int($0) } ?? 1
    }
}

extension DemoEvent.Expectation {
    /// nil: as expected.
    fileprivate func surprise(_ outcome: JSONValue) -> String? {
        let kind = outcome["outcome"]?.string
        let reason = outcome["reason"]?.string
        switch self {
        case .nothing: return "\(kind ?? "?") \(reason ?? ""); expected no outcome"
        case .outcomeOfAnyReason(let wanted):
            return kind == wanted ? nil : "\(kind ?? "?") \(reason ?? ""); expected \(wanted)"
        case .outcome(let wanted, let wantedReason):
            guard kind != wanted || reason != wantedReason else { return nil }
            return "\(kind ?? "?") \(reason ?? "-"), expected \(wanted) \(wantedReason ?? "-")"
        }
    }
}
