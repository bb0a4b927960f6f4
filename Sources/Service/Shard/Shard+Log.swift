import Delivery
import KafkaIO
import Logging
import Telemetry
import Vocabulary

extension Shard {
    /// Tells what became of an event, once Kafka has its outcome.
    ///
    /// What did not reach APNs or was refused by it is told at `info`, where repetitions are
    /// summarised; every outcome at `debug`. A dead token is no fault, nor is a duplicate.
    func log(_ outcome: Outcome, of delivery: Delivery) {
        let isFault = outcome.kind.isFault
        let level: Logger.Level = isFault ? .info : .debug
        guard logLevel <= level else { return }
        log.log(
            level: level,
            isFault ? "event not delivered" : "event concluded",
            facts(of: outcome, delivery)
        )
    }

    /// Nothing of the payload, and no violation: its pointer can hold names out of the payload.
    private func facts(of outcome: Outcome, _ delivery: Delivery) -> [LogKey: String] {
        let subject = outcome.subject
        let origin = delivery.origin(
            readFrom: consumer.name(of: delivery.arrival.record.partition)
        )
        var facts: [LogKey: String] = [
            .outcome: outcome.kind.rawValue, .attempts: "\(outcome.attempts)",
            .source: "\(origin.partition)@\(origin.offset)",
        ]
        facts[.eventID] = subject.eventID
        facts[.apnsID] = subject.apnsID?.description
        facts[.apnsTopic] = subject.topic?.name
        facts[.environment] = subject.environment?.rawValue
        facts[.credential] = outcome.credential
        facts[.reason] = outcome.reason?.text
        facts[.status] = outcome.httpStatus.map { "\($0)" }
        if let token = subject.deviceToken {
            facts[.device] = settings.fingerprintKey?.fingerprint(of: token)
        }
        return facts
    }
}

extension OutcomeKind {
    /// Somebody has to mend the event, the credential or the network.
    fileprivate var isFault: Bool {
        switch self {
        case .rejected, .invalid, .undeliverable: true
        case .accepted, .unregistered, .expired, .suppressed, .duplicate: false
        }
    }
}
