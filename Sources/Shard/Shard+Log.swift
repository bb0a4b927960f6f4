import Credentials
import Delivery
import KafkaIO
import Log
import Telemetry
import Vocabulary

extension Shard {
    /// Tells what became of an event, once Kafka has its outcome.
    ///
    /// What did not reach APNs or was refused by it is told at `info`, where repetitions are
    /// summarised; every outcome at `debug`. A dead token is no fault, nor is a duplicate.
    mutating func log(_ ending: Ending, of arrival: Arrival) {
        let isFault = ending.kind.isFault
        let level: LogLevel = isFault ? .info : .debug
        guard log.isEnabled(level) else { return }
        log.log(
            level,
            isFault ? "event not delivered" : "event concluded",
            facts(of: arrival.outcome(ending), arrival)
        )
    }

    /// Nothing of the payload, and no violation: its pointer can hold names out of the payload.
    private func facts(of outcome: Outcome, _ arrival: Arrival) -> LogFacts {
        let subject = outcome.subject
        let origin = arrival.origin(readFrom: consumer.name(of: arrival.record.partition))
        return [
            .outcome: outcome.kind.rawValue,
            .attempts: "\(outcome.attempts)",
            .source: "\(origin.partition)@\(origin.offset)",
            .eventID: subject.eventID?.description,
            .apnsID: subject.apnsID?.description,
            .apnsTopic: subject.topic?.name,
            .environment: subject.environment?.rawValue,
            .credential: outcome.credential,
            .reason: outcome.reason?.text,
            .status: outcome.httpStatus.map { "\($0)" },
            .device: subject.deviceToken.flatMap { settings.fingerprintKey?.fingerprint(of: $0) },
        ]
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
