import Delivery
import Vocabulary

/// Token statuses on their way to Kafka.
///
/// A producer writes its records with one key in the order in which they were produced. So whenever
/// one of them is due, the first of them arrives.
struct StatusLines {
    private struct Line: Hashable {
        let member: MemberID
        let producer: Int
        let device: Int32

        init(_ request: ProduceRequest, _ device: Int32) {
            (member, producer) = (request.member, request.producer)
            self.device = device
        }
    }

    private var lines: [Line: [ProduceRequest]] = [:]

    mutating func produced(_ request: ProduceRequest, for device: Int32) {
        lines[Line(request, device), default: []].append(request)
    }

    /// The request that arrives when this one is due.
    mutating func arrived(_ due: ProduceRequest, for device: Int32) -> ProduceRequest {
        let line = Line(due, device)
        guard var requests = lines[line], !requests.isEmpty else { return due }
        let first = requests.removeFirst()
        lines[line] = requests.isEmpty ? nil : requests
        return first
    }
}
