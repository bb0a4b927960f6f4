import EventCodec
import JSON
import Vocabulary

/// The outcomes of the demo's events, compared with the expected ones.
struct DemoLedger {
    struct Line {
        var event: DemoEvent
        /// In order of arrival; exactly one is correct.
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

    /// The number of events that must get an outcome.
    var expected: Int { lines.count { !$0.isTombstone } }
    var arrived: Int { lines.count { !$0.outcomes.isEmpty } }
    var isComplete: Bool { lines.allSatisfy { $0.isTombstone || !$0.outcomes.isEmpty } }

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
    var surprises: [String] { lines.compactMap(\.surprise) }

    private static func position(_ partition: TopicPartition, _ offset: Int64) -> String {
        "\(partition)/\(offset)"
    }
}

extension DemoLedger.Line {
    var isTombstone: Bool { event.value == nil }

    /// nil: as expected.
    var surprise: String? {
        let place = "line \(event.line)"
        if case .nothing? = event.expectation {
            return outcomes.isEmpty ? nil : "\(place): a tombstone got an outcome"
        }
        if isTombstone { return outcomes.isEmpty ? nil : "\(place): a tombstone got an outcome" }
        guard let outcome = outcomes.first else { return "\(place): no outcome" }
        guard outcomes.count == 1 else { return "\(place): \(outcomes.count) outcomes" }
        let kind = outcome["outcome"]?.string
        let reason = outcome["reason"]?.string
        switch event.expectation {
        case .nothing, nil: return nil
        case .outcomeOfAnyReason(let wanted):
            return kind == wanted
                ? nil : "\(place): \(kind ?? "?") \(reason ?? ""); expected \(wanted)"
        case .outcome(let wanted, let wantedReason):
            guard kind != wanted || reason != wantedReason else { return nil }
            return "\(place): \(kind ?? "?") \(reason ?? "-"), "
                + "expected \(wanted) \(wantedReason ?? "-")"
        }
    }
}
