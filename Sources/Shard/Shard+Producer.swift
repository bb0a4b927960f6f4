import Delivery
import EventCodec
import KafkaIO
import Log
import SystemIO
import Vocabulary

extension Shard {
    mutating func producerHappened(_ event: ProducerEvent) {
        switch event {
        case .deliveryReported(let rawTag, let error):
            guard let tag = PublicationTag(rawValue: rawTag) else { return }
            if let error {
                publicationFailed(tag, error)
            } else {
                published(tag)
            }
        case .failed(let error):
            if error.isFatal, settings.engine.isTransactional {
                transactionalProducerFailed(error)
            } else if error.isFatal {
                producerFailed(error)
            } else {
                tell(OutcomeNews.failed(error))
            }
        case .statistics(let text): tell(OutcomeNews.statistics(text))
        case .logged(let line): tell(OutcomeNews.logged(line))
        }
    }

    mutating func publish(_ record: OutgoingRecord) {
        // The next producer is given all that is not acknowledged.
        guard !producerBackoff.isWaiting else { return }
        // It came by `recordArrived`, so its partition's role is known.
        let source = partitionRoles[record.arrival.record.partition].name
        do throws(KafkaError) {
            try publisher.publish(record, source: source, through: producer)
        } catch {
            publicationFailed(record.tag, error)
        }
    }

    private mutating func published(_ tag: PublicationTag) {
        producerBackoff.worked()
        let record = engine.published(tag)
        // In a transaction it counts once that is committed.
        guard !settings.engine.isTransactional else { return tell(.taken(tag.publication)) }
        if record?.isLast == true { publisher.concluded(tag.delivery) }
        tell(.written(tag.publication, record))
    }

    private mutating func publicationFailed(_ tag: PublicationTag, _ error: KafkaError) {
        if settings.engine.isTransactional, error.isPurge {
            // An abort that the engine asked for drops records, which is no news to it. So does
            // librdkafka when it finds that a transaction has failed, and tells of it in no other way.
            engine.publicationFailed(tag, now: now)
            return
        }
        guard error.code == .messageSizeTooLarge else {
            tell(.notTaken(tag.publication, error))
            engine.publicationFailed(tag, now: now)
            return
        }
        switch tag.publication {
        case .outcome:
            tell(.notTaken(.outcome, error))
            // Without metadata, key and trace context every outcome fits; if the broker refuses
            // even that, it is tried until somebody raises the topic's limit.
            _ = publisher.shorten(tag.delivery)
            engine.publicationFailed(tag, isRefused: true, now: now)
        case .tokenStatus, .deadLetter:
            let record = engine.publicationAbandoned(tag, now: now)
            if record?.isLast == true { publisher.concluded(tag.delivery) }
            tell(.tooLarge(tag.publication, error, record))
        case .retry:
            tell(.tooLarge(.retry, error))
            engine.deferralRefused(tag.delivery, now: now)
        }
    }

    /// A fatal producer is of no use any more (librdkafka 2.0.2 can end up so after a plain
    /// restart of a broker): a new one takes over everything that was not acknowledged.
    private mutating func producerFailed(_ error: KafkaError) {
        guard !producerBackoff.isWaiting else { return }
        tell(.producerFailed(error, isReplaced: true))
        producerBackoff.failed(now: now.instant)
    }

    /// - Returns: false when there is no new one: the process is to end.
    mutating func replaceProducer() -> Bool {
        do {
            let successor = try settings.kafka.makeProducer(
                shard: index,
                wakeup: producerWakeup.fileDescriptor
            )
            producer.abandon()
            producer = successor
            publisher.forgetRefused()
            producerBackoff.replaced()
            return true
        } catch {
            failure = ServiceError(text: "no new producer: \(error)")
            return false
        }
    }

    mutating func tell(_ news: OutcomeNews) {
        observer.saw(news, consumer.partitions, now: now)
    }
}

extension KafkaError {
    /// The record was dropped because its transaction has failed or is aborted.
    fileprivate var isPurge: Bool { code == .purgedInQueue || code == .purgedInFlight }
}

extension ProducerEvent {
    /// A record is written, which holds whoever reported it.
    var isSuccess: Bool {
        if case .deliveryReported(_, nil) = self { return true }
        return false
    }
}
