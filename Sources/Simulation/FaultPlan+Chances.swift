import Vocabulary

/// The probability of each fault, chosen at random from the seed.
extension FaultPlan.Chances {
    /// No faults of the service's peers; only the input is as varied as always.
    static let calm = Self(
        connectFails: 0,
        connectionDies: 0,
        requestRefused: 0,
        requestReset: 0,
        silence: 0,
        goAway: 0,
        connectionBreaks: 0,
        streamLimitChanges: 0,
        serverError: 0,
        tooManyRequests: 0,
        shutdownAnswer: 0,
        badToken: 0,
        produceRefused: 0,
        acknowledgementLost: 0,
        doubledProduce: 0,
        oversizedEvent: 0,
        commitRefused: 0,
        partitionRefused: 0,
        commitAnswerLost: 0,
        offsetFetchFails: 0,
        metadataForged: 0,
        hotDevice: 0.1,
        deadDevice: 0,
        failingDevice: 0,
        revivedDevice: 0,
        invalidEvent: 0.02,
        expiringEvent: 0.1,
        tombstone: 0.02,
        gap: 0.02,
        uncoveredEvent: 0.01,
        repeatedEvent: 0,
        forgedRetryHeader: 0,
        namedSchema: 0.05,
        schemaFetchFails: 0
    )

    init(_ dice: inout Dice) {
        func chance(_ most: Double) -> Double {
            // Each fault is absent from a third of the runs, so that other faults also occur alone.
            dice.number(below: 3) == 0 ? 0 : most * dice.unit()
        }
        connectFails = chance(0.5)
        connectionDies = chance(0.3)
        requestRefused = chance(0.05)
        requestReset = chance(0.02)
        silence = chance(0.01)
        goAway = chance(0.005)
        connectionBreaks = chance(0.005)
        streamLimitChanges = chance(0.01)
        serverError = chance(0.1)
        tooManyRequests = chance(0.05)
        shutdownAnswer = chance(0.005)
        badToken = chance(0.02)
        produceRefused = chance(0.05)
        acknowledgementLost = chance(0.02)
        doubledProduce = chance(0.02)
        oversizedEvent = chance(0.2)
        commitRefused = chance(0.1)
        partitionRefused = chance(0.03)
        commitAnswerLost = chance(0.05)
        offsetFetchFails = chance(0.5)
        metadataForged = chance(0.5)
        hotDevice = chance(0.3)
        deadDevice = chance(0.1)
        failingDevice = chance(0.02)
        revivedDevice = chance(0.8)
        invalidEvent = chance(0.05)
        expiringEvent = chance(0.3)
        tombstone = chance(0.03)
        gap = chance(0.05)
        uncoveredEvent = chance(0.02)
        repeatedEvent = chance(0.03)
        forgedRetryHeader = chance(0.05)
        namedSchema = chance(0.1)
        schemaFetchFails = chance(0.8)
    }
}

extension FaultPlan.Intervals {
    /// Members restart in turn, join and leave, but none crashes.
    static let calm = Self(
        crash: nil,
        restart: .seconds(60),
        fence: nil,
        stall: nil,
        resize: .seconds(120),
        producerFailure: nil,
        clockJump: nil,
        providerTokenExpiry: nil,
        logCut: nil
    )

    init(_ dice: inout Dice) {
        func interval(_ mean: ClosedRange<Int>) -> Duration? {
            dice.number(below: 2) == 0 ? nil : dice.seconds(mean)
        }
        crash = interval(60...900)
        restart = interval(60...900)
        fence = interval(60...900)
        stall = interval(60...600)
        resize = interval(200...900)
        producerFailure = interval(100...900)
        clockJump = interval(100...900)
        providerTokenExpiry = interval(200...1800)
    }
}
