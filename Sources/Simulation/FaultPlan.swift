import Vocabulary

/// What goes wrong in a simulated run, drawn from the seed.
package struct FaultPlan: Hashable, Sendable {
    package var seed: UInt64
    package var partitions: Int
    package var members: Int
    package var events: Int
    package var inFlightLimit: Int
    /// Events are for devices 0 to this one: few devices make long lines.
    package var lastDevice: UInt8
    /// Faults stop at this virtual moment; then everything must drain.
    package var faultsEnd: Duration

    // Chances, 0 to 1, each time the thing happens.
    package var connectFails: Double
    package var streamRefused: Double
    package var streamReset: Double
    package var silence: Double
    package var goAway: Double
    package var connectionBreaks: Double
    package var streamLimitChanges: Double
    package var serverError: Double
    package var tooManyRequests: Double
    package var unregistered: Double
    package var badToken: Double
    package var tokenExpired: Double
    package var publicationFails: Double
    package var commitFails: Double
    package var offsetFetchFails: Double
    package var invalidEvents: Double
    package var expiringEvents: Double
    package var tombstones: Double

    /// Mean time between deaths of a member; nil: none dies.
    package var crashEvery: Duration?
    /// Mean time between rolling restarts; nil: none.
    package var restartEvery: Duration?
    /// Mean time between members that the group gives up on while they live; nil: none.
    package var fenceEvery: Duration?

    package init(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        func chance(_ most: Double) -> Double {
            // A third of the runs is free of each fault, so that faults are seen alone as well.
            Int.random(in: 0..<3, using: &random) == 0
                ? 0 : Double.random(in: 0...most, using: &random)
        }
        self.seed = seed
        partitions = Int.random(in: 1...12, using: &random)
        members = Int.random(in: 1...3, using: &random)
        events = Int.random(in: 200...2000, using: &random)
        inFlightLimit = Int.random(in: 8...500, using: &random)
        lastDevice = UInt8.random(in: 20...255, using: &random)
        faultsEnd = .seconds(Int.random(in: 30...600, using: &random))
        connectFails = chance(0.5)
        streamRefused = chance(0.1)
        streamReset = chance(0.05)
        silence = chance(0.02)
        goAway = chance(0.01)
        connectionBreaks = chance(0.01)
        streamLimitChanges = chance(0.02)
        serverError = chance(0.3)
        tooManyRequests = chance(0.1)
        unregistered = chance(0.1)
        badToken = chance(0.1)
        tokenExpired = chance(0.02)
        publicationFails = chance(0.1)
        commitFails = chance(0.2)
        offsetFetchFails = chance(0.5)
        invalidEvents = chance(0.1)
        expiringEvents = chance(0.2)
        tombstones = chance(0.05)
        crashEvery = Bool.random(using: &random) ? .seconds(60) : nil
        restartEvery = Bool.random(using: &random) ? .seconds(90) : nil
        fenceEvery = Bool.random(using: &random) ? .seconds(60) : nil
    }
}
