/// Counts what a run exercised, to show what the simulation did not reach.
package struct Coverage: Hashable, Sendable {
    package enum Fact: Int, Hashable, Sendable, CaseIterable {
        // Traffic
        case eventAppended
        case eventRepeatedUpstream
        case gapInLog
        case fanOutAppended
        case campaignOrdered
        // Processes
        case memberStarted
        case memberCrashed
        case memberRestarted
        case memberFenced
        case memberStalled
        case clockJumped
        // Kafka
        case rebalance
        case partitionTakenBack
        case startedAtEnd
        case offsetFetchFailed
        case metadataForged
        case skippedAsSettled
        // Recipients
        case fanOutArrived
        case fanOutResumed
        case fanOutHandedBack
        case fanOutCutShort
        case recipientsReadInParts
        case recipientPutOff
        case recipientsPutOff
        case recipientsRefused
        case retryRefused
        case recipientsDropped
        case recipientRepeated
        case recipientInvalid
        case logCut
        case logChanged
        case logReplaced
        case commitAccepted
        case commitRefused
        case commitPartlyRefused
        case commitMetadataRefused
        case commitAnswerLost
        case commitInDoubt
        case transactionCommitted
        case transactionAborted
        case produceRefused
        case acknowledgementLost
        case produceDoubled
        case batchRefused
        case recordGivenUp
        case topicRefused
        case tokenStatusDropped
        case tokenStatusOutdated
        case partitionWaitsForTopic
        case producerReplaced
        // APNs
        case connectFailed
        case certificateRefused
        case connectionOpened
        case connectionBroken
        case connectionSilent
        case connectionAnsweredPingsOnly
        case goAway
        case unprocessed
        case streamReset
        case streamSilent
        case streamLimitChanged
        case requestSent
        case accepted
        case breakerOpened
        case broadcastSent
        case broadcastSuperseded
        case answered410
        case answered403
        case answered429
        case answered5xx
        case intakePaused
        // Tokens and schemas
        case tokenSuppressed
        case tokenReadmitted
        case tokenHeld
        case schemaFetched
        case schemaFetchFailed
        // Episodes
        case episodeConnectionsRefused
        case episodeServerErrors
        case episodeSilence
        case episodeStreamsRefused
        case episodeStreamsReset
        case episodeSlowAnswers
        case episodeCredentialRevoked
        case episodeKafkaDown
        case episodeSlowProduce
        case episodeTopicsRefuse
        case episodeTokensCondemned
        case episodeRegistryDown
        // Outcomes
        case eventPutOff
        case retryHeaderForged
        case outcomeAccepted
        case outcomeUnregistered
        case outcomeRejected
        case outcomeInvalid
        case outcomeExpired
        case eventTooOld
        case outcomeSuppressed
        case outcomeCancelled
        case campaignPutOff
        case campaignPaced
        case campaignPaceKept
        case tallyWritten
        case tallyRefused
        case outcomeDuplicate
        case outcomeUndeliverable
        case outcomeRepeated
        case pushRepeated
        case runReplayed

        /// The name of the case, split into words.
        package var text: String {
            "\(self)".reduce(into: "") { text, letter in
                if letter.isUppercase { text.append(" ") }
                text += letter.lowercased()
            }
        }
    }

    private var counts = Array(repeating: 0, count: Fact.allCases.count)

    package init() {}

    mutating func note(_ fact: Fact, times: Int = 1) {
        counts[fact.rawValue] += times
    }

    package subscript(fact: Fact) -> Int { counts[fact.rawValue] }

    package mutating func add(_ other: Coverage) {
        for place in counts.indices { counts[place] += other.counts[place] }
    }
}
