public import Vocabulary

/// Detects when APNs refuses so many device tokens at once that the tokens cannot be the cause.
///
/// With a wrong host or key, APNs refuses every token. The fuse compares the recent share of
/// refused tokens (`BadDeviceToken`, `DeviceTokenNotForTopic`, 410) with its baseline, the usual
/// share. It counts only answers that judge a token. While it is blown, no token is removed.
///
/// Recent answers are counted with exponential decay, by count and by time: an answer weighs less
/// with each further answer (the *memory* is four times `minimumAnswers`) and half after
/// `halfLife`. So above a certain rate, the number of answers that blow the fuse does not depend on
/// the rate, and a trickle over days is not a jump. The baseline is counted likewise, over
/// `baselineMemory` answers, and is frozen while the fuse is blown.
public struct TokenFuse: Hashable, Sendable {
    public struct Settings: Hashable, Sendable {
        /// The total weight of answers required to blow the fuse, and the number of answers near
        /// the baseline required to reset it.
        public var minimumAnswers: Int
        /// The share of valid tokens that must be refused, 0 to 1: 0.3 at a baseline of 0.02 means
        /// a share of 0.02 + 0.3 · 0.98 = 0.314.
        public var jump: Double
        /// How long the share must stay near the baseline before the fuse is reset.
        public var recovery: Duration
        /// The time after which an answer's weight is halved.
        public var halfLife: Duration

        public init(
            minimumAnswers: Int = 100,
            jump: Double = 0.3,
            recovery: Duration = .seconds(300),
            halfLife: Duration = .seconds(600)
        ) {
            self.minimumAnswers = minimumAnswers
            self.jump = jump
            self.recovery = recovery
            self.halfLife = halfLife
        }
    }

    private enum Phase: Hashable {
        /// Next: `blown`.
        case whole
        /// `calmSince`: when the share came near the baseline, nil if it is not; `calmAnswers`:
        /// answers since.
        ///
        /// Next: `whole`.
        case blown(calmSince: Instant?, calmAnswers: Int)
    }

    private let settings: Settings
    private var phase = Phase.whole
    private var answers = 0.0
    private var condemned = 0.0
    private var lastAnswerAt: Instant?
    private var baselineAnswers = Self.assumedAnswers
    private var baselineCondemned = Self.assumedAnswers * Self.assumedShare
    /// How many times it has blown.
    public private(set) var trips = 0

    /// The share of refused tokens assumed before any answer.
    private static let assumedShare = 0.05
    private static let assumedAnswers = 1000.0
    private static let baselineMemory = 10_000.0

    public init(_ settings: Settings) {
        self.settings = settings
    }

    public var isBlown: Bool { phase != .whole }

    /// The share of refused tokens among recent answers, 0 to 1.
    public var share: Double { answers > 0 ? condemned / answers : 0 }

    /// The usual share of refused tokens, 0 to 1.
    public var baseline: Double { baselineCondemned / baselineAnswers }

    /// The share at which the fuse blows, 0 to 1.
    public var threshold: Double { baseline + settings.jump * (1 - baseline) }

    /// APNs judged a device token: it accepted the notification, or refused the token.
    public mutating func answered(isCondemned: Bool, now: Instant) {
        let memory = Double(4 * settings.minimumAnswers)
        let fading = fading(until: now) * (1 - 1 / memory)
        let weight = isCondemned ? 1.0 : 0.0
        answers = answers * fading + 1
        condemned = condemned * fading + weight
        lastAnswerAt = now
        switch phase {
        case .whole:
            let baselineFading = 1 - 1 / Self.baselineMemory
            baselineAnswers = baselineAnswers * baselineFading + 1
            baselineCondemned = baselineCondemned * baselineFading + weight
            guard answers >= Double(settings.minimumAnswers), share >= threshold else { return }
            trips += 1
            phase = .blown(calmSince: nil, calmAnswers: 0)
        case .blown(let calmSince, let calmAnswers):
            phase = blownPhase(calmSince: calmSince, calmAnswers: calmAnswers, now: now)
        }
    }

    private func blownPhase(calmSince: Instant?, calmAnswers: Int, now: Instant) -> Phase {
        guard share < calmThreshold else { return .blown(calmSince: nil, calmAnswers: 0) }
        let since = calmSince ?? now
        let isLongEnough = now - since >= settings.recovery
        guard isLongEnough, calmAnswers + 1 >= settings.minimumAnswers else {
            return .blown(calmSince: since, calmAnswers: calmAnswers + 1)
        }
        return .whole
    }

    /// A quarter of the jump: halfway to the threshold, the fuse would flicker.
    private var calmThreshold: Double { baseline + settings.jump / 4 * (1 - baseline) }

    /// The factor by which answers fade between the last one and `now`, 0 to 1.
    private func fading(until now: Instant) -> Double {
        guard let lastAnswerAt, now > lastAnswerAt else { return 1 }
        let elapsed = Double((now - lastAnswerAt).nanoseconds)
        return Self.half(toThePower: elapsed / Double(settings.halfLife.nanoseconds))
    }

    /// `0.5^exponent` for a non-negative exponent, without a math library.
    ///
    /// Halves for the integer part, and approximates the rest by a polynomial with an error of
    /// 0.0002.
    static func half(toThePower exponent: Double) -> Double {
        guard exponent < 64 else { return 0 }
        let whole = exponent.rounded(.down)
        let rest = exponent - whole
        let fraction = 1 + rest * (-0.692_85 + rest * (0.234_85 + rest * -0.042))
        return Double(sign: .plus, exponent: -Int(whole), significand: 1) * fraction
    }
}
