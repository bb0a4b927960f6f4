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
    mutating func log(_ kind: OutcomeKind, _ delivery: Delivery) {
        let isFault = kind.isFault
        let level: Logger.Level = isFault ? .info : .debug
        guard logLevel <= level, let outcome = delivery.outcome else { return }
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
        let known: [(key: LogKey, text: String?)] = [
            (.outcome, outcome.kind.rawValue),
            (.attempts, "\(outcome.attempts)"),
            (.source, "\(origin.partition)@\(origin.offset)"),
            (.eventID, subject.eventID?.description),
            (.apnsID, subject.apnsID?.description),
            (.apnsTopic, subject.topic?.name),
            (.environment, subject.environment?.rawValue),
            (.credential, outcome.credential),
            (.reason, outcome.reason?.text),
            (.status, outcome.httpStatus.map { "\($0)" }),
            (.device, subject.deviceToken.flatMap { settings.fingerprintKey?.fingerprint(of: $0) }),
        ]
        // With room for all at once: a flood of faults makes one for each, most to be counted only.
        var facts = [LogKey: String](minimumCapacity: known.count)
        for case (let key, let text?) in known { facts[key] = text }
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
