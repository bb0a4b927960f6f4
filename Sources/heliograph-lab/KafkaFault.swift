import EmbeddedKafka
import KafkaIO

/// A fault of the embedded Kafka, read from a line of text.
enum KafkaFault: Hashable, Sendable {
    /// A broker goes down: its connections end and it accepts none, until it is up again.
    case broker(Int, isUp: Bool)
    /// Every response of a broker is delayed by this time.
    case delay(broker: Int, Duration)
    /// The next requests of this kind fail with this code.
    case failures(EmbeddedKafka.Request, KafkaError.Code, count: Int)

    static let usage =
        "down BROKER, up BROKER, delay BROKER MILLISECONDS, fail REQUEST CODE [COUNT]"
    private static let maxMilliseconds = 60_000
    private static let maxCount = 10_000

    init?(_ line: String) {
        let words = line.split(separator: " ").map(String.init)
        let numbers = words.dropFirst().map { Int($0) }
        switch (words.first, words.count) {
        case ("down", 2), ("up", 2):
            guard let broker = numbers[0] else { return nil }
            self = .broker(broker, isUp: words[0] == "up")
        case ("delay", 3):
            guard let broker = numbers[0], let milliseconds = numbers[1],
                (0...Self.maxMilliseconds).contains(milliseconds)
            else { return nil }
            self = .delay(broker: broker, .milliseconds(milliseconds))
        case ("fail", 3...4):
            let name = EmbeddedKafka.Request.allCases.first { "\($0)" == words[1] }
            let count = words.count == 4 ? numbers[2] : 1
            guard let name, let code = numbers[1].flatMap(Int32.init(exactly:)),
                let count, (1...Self.maxCount).contains(count)
            else { return nil }
            self = .failures(name, KafkaError.Code(rawValue: code), count: count)
        default: return nil
        }
    }

    /// - Returns: false if the broker does not exist.
    func apply(to kafka: EmbeddedKafka) -> Bool {
        switch self {
        case .broker(let broker, _), .delay(let broker, _):
            guard (1...kafka.brokerCount).contains(broker) else { return false }
        case .failures: break
        }
        switch self {
        case .broker(let broker, let isUp): kafka.setBroker(broker, isUp: isUp)
        case .delay(let broker, let delay): kafka.setDelay(delay, ofBroker: broker)
        case .failures(let request, let code, let count):
            kafka.failNext(request, with: Array(repeating: code, count: count))
        }
        return true
    }
}
