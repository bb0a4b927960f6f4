package import Delivery
package import KafkaIO
import Vocabulary

/// The result of a record that the shard writes, or other news of its producer, for observers.
package enum OutcomeNews: Sendable {
    /// Kafka acknowledged the record; nil: its delivery has left, because its partition was lost.
    case written(Publication, PublishedRecord?)
    /// Kafka has the record, in a transaction that is still open.
    case taken(Publication)
    /// A transactional call succeeded; contains the committed deliveries with all their records.
    case transactionCallSucceeded(
        [(written: OutcomeTransactions.Written, record: PublishedRecord)]
    )
    /// A transactional call failed.
    ///
    /// `metadataLimit` is set if the cause was a commit's metadata: commits now have at most this
    /// many characters. `isOfTally`: the cause seems to be the tally topic.
    case transactionFailed(KafkaError, metadataLimit: Int? = nil, isOfTally: Bool = false)
    /// Kafka has a record of the tally topic; with transactions, it is not committed yet.
    case tallyTaken
    /// Kafka has not accepted a record of the tally topic; its counts are written again later.
    case tallyRefused(KafkaError)
    /// The record is produced again.
    case notTaken(Publication, KafkaError)
    /// The batch with the record was rejected; the record is produced again in a batch of its own.
    case batchRefused(Publication, KafkaError)
    /// The topic permanently rejects the record, which is dropped.
    ///
    /// If it was the last record, it is passed with its event.
    case dropped(Publication, KafkaError, of: Arrival?, PublishedRecord? = nil)
    /// The producer failed; `isReplaced`: another one follows.
    case producerFailed(KafkaError, isReplaced: Bool)
    case statistics([UInt8])
    case failed(KafkaError)
    case logged(KafkaLogLine)
}
