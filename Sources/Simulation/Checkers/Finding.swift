package import Vocabulary

/// A broken promise, as observed from outside the service.
package struct Finding: Hashable, Sendable, CustomStringConvertible {
    package enum Promise: String, Hashable, Sendable {
        case everyEventHasAnOutcome
        case committedOnlyAfterOutcome
        case everythingSettledIsCommitted
        case metadataIsReadable
        case noRepeatWithoutCause
        case sameIdentity
        case streamLimitKept
        case oneStreamUntilProven
        case revokedKeyIsNotUsed
        case stalledConnectionGivenUp
        case deadConnectionGivenUp
        case intakeBounded
        case pausesAreTold
        case accountingHolds
        case nothingSentAfterExpiration
        case attemptsCounted
        case outcomeIsTrue
        case ownedWhenSent
        case putOffWithinBounds
        case lateIsGivenUp
        case notSentBeforeItsTime
        case oneInFlightPerDevice
        case urgentIsNotStarved
        case nothingSentToDeadTokens
        case suppressedIsDead
        case duplicateHasAnOriginal
        case recipientsAreNamed
        case retryRecordsAreTrue
        case orderIsKept
        case campaignIsObeyed
        case paceIsNotExceeded
        case paceIsKept
        case statusOrderIsKept
        case tallyIsTrue
        case sentOnceItsSchemaIsKnown
        case tokensHeldWhileFuseIsBlown
        case fuseBlows
        case fuseRecovers
        case requestsEndInTime
        case refusalsBackOff
        case refusedIsNotGivenUp
        case breakerIsJust
        case failingEndpointLeftAlone
        case newestBroadcastWins
        case broadcastIsNeverLate
        case rebalanceRepeatsNothing
        case drains
        case droppedForACause
        case topicWaitsBounded
        case oneOutcomeInTransactions
        case transactionsAreWhole
        case endsForACause
        case replays
    }

    package let promise: Promise
    package let detail: String
    package let at: Instant

    package var description: String {
        "\(promise.rawValue) at \(Double(at.nanoseconds) / 1e9) s: \(detail)"
    }
}

extension World {
    mutating func found(_ promise: Finding.Promise, _ detail: String) {
        findings.append(Finding(promise: promise, detail: detail, at: now))
    }
}
