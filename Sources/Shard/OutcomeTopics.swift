package import Delivery
package import EventCodec
package import Vocabulary

/// The topics of outcome records, and the configuration of their headers.
package struct OutcomeTopics: Sendable {
    package var results: KafkaTopic
    package var tokenStatus: KafkaTopic?
    package var deadLetters: KafkaTopic?
    package var deadLetterHeaders: DeadLetterHeaders
    package var retry: RetryTopics
    /// Nil: the counts of campaigns are not written.
    package var campaignTally: KafkaTopic?
    /// Whether outcomes have the `DeliveryTimes` headers.
    package var hasTimingHeaders: Bool

    package init(
        results: KafkaTopic,
        tokenStatus: KafkaTopic?,
        deadLetters: KafkaTopic?,
        deadLetterHeaders: DeadLetterHeaders,
        retry: RetryTopics,
        campaignTally: KafkaTopic? = nil,
        hasTimingHeaders: Bool
    ) {
        self.results = results
        self.tokenStatus = tokenStatus
        self.deadLetters = deadLetters
        self.deadLetterHeaders = deadLetterHeaders
        self.retry = retry
        self.campaignTally = campaignTally
        self.hasTimingHeaders = hasTimingHeaders
    }

    /// The topic of a kind of record, for the log.
    func name(of publication: Publication) -> String {
        switch publication {
        case .outcome: results.name
        case .tokenStatus: tokenStatus?.name ?? "no topic"
        case .deadLetter: deadLetters?.name ?? "no topic"
        case .retry: "a retry topic"
        }
    }
}
