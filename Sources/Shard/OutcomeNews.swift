package import Delivery
package import KafkaIO
import Vocabulary

/// The result of a record that the shard writes, or news of its producer, for observers.
package enum OutcomeNews: Sendable {
    /// Kafka has acknowledged the record; nil: its delivery has left, because its partition was
    /// lost.
    case written(Publication, PublishedRecord?)
    /// Kafka has the record, in a transaction that is in progress.
    case taken(Publication)
    /// A transactional call succeeded; what is committed by it, all records of each delivery.
    case transactionCallSucceeded(
        [(written: OutcomeTransactions.Written, record: PublishedRecord)]
    )
    /// A transactional call failed; the limit, if it did so because of a commit's metadata: from
    /// now on commits have at most this many characters.
    case transactionFailed(KafkaError, metadataLimit: Int? = nil)
    /// The record is produced again.
    case notTaken(Publication, KafkaError)
    /// The batch that the record was in is refused: it is produced again by itself.
    case batchRefused(Publication, KafkaError)
    /// Its topic will never take the record, which is dropped; its event, and all of its records if it
    /// was the last.
    case dropped(Publication, KafkaError, of: Arrival?, PublishedRecord? = nil)
    /// This producer has failed; `isReplaced`: another one follows.
    case producerFailed(KafkaError, isReplaced: Bool)
    case statistics([UInt8])
    case failed(KafkaError)
    case logged(KafkaLogLine)
}
