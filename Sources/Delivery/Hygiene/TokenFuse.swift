public import Vocabulary

/// Detects when APNs refuses so many device tokens at once that the tokens cannot be the cause.
///
/// With a wrong host or key, APNs refuses every token. The fuse compares the share of refused
/// tokens (`BadDeviceToken`, `DeviceTokenNotForTopic`, 410) among the latest answers that judge a
/// token with the usual share, its baseline. While it is blown no token is to be removed.
///
/// The latest answers are counted with exponential decay, by answers and by time: an answer weighs
/// less with every further one (a *memory* of four times `minimumAnswers`) and half after
/// `halfLife`. So above some answers a minute, the fuse blows after a number of them that does not
/// depend on their rate, and a trickle over days is not a jump. The baseline is counted likewise, over `baselineMemory`
/// answers, and does not change while the fuse is blown.
public struct TokenFuse: Hashable, Sendable {
    public struct Settings: Hashable, Sendable {
        /// The weight of evidence that there must be before the fuse can blow, and the answers at
        /// the usual share that there must be before it is reset.
        public var minimumAnswers: Int
        /// The share of the valid tokens that must be refused, 0 to 1: 0.3 at a baseline of 0.02 is
        /// a share of 0.02 + 0.3 · 0.98 = 0.314.
        public var jump: Double
        /// How long the share must stay near the baseline before the fuse is reset.
        public var recovery: Duration
        /// The time after which an answer counts half.
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
        /// The share is near the baseline since `calmSince`, over so many answers; nil: it is not.
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
    /// How often it has blown.
    public private(set) var trips = 0

    /// What a fuse believes of its tokens before it has seen any.
    private static let assumedShare = 0.05
    private static let assumedAnswers = 1000.0
    private static let baselineMemory = 10_000.0

    public init(_ settings: Settings) {
        self.settings = settings
    }

    public var isBlown: Bool { phase != .whole }

    /// The share of refused tokens among the latest answers, 0 to 1.
    public var share: Double { answers > 0 ? condemned / answers : 0 }

    /// The usual share, 0 to 1.
    public var baseline: Double { baselineCondemned / baselineAnswers }

    /// The share at which the fuse blows.
    public var threshold: Double { baseline + settings.jump * (1 - baseline) }

    /// APNs judged a device token: it took the notification, or refused the token.
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

    /// Half way up is not yet calm: the fuse would flicker.
    private var calmThreshold: Double { baseline + settings.jump / 4 * (1 - baseline) }

    /// What is left of an answer's weight after the time since the last one.
    private func fading(until now: Instant) -> Double {
        guard let lastAnswerAt, now > lastAnswerAt else { return 1 }
        let elapsed = Double((now - lastAnswerAt).nanoseconds)
        return Self.half(toThePower: elapsed / Double(settings.halfLife.nanoseconds))
    }

    /// `0.5^exponent` for what is not negative, without a library of functions: halves for the
    /// whole part, and for the rest the polynomial of `2^-x` that is right to 0.0002.
    static func half(toThePower exponent: Double) -> Double {
        guard exponent < 64 else { return 0 }
        let whole = exponent.rounded(.down)
        let rest = exponent - whole
        let fraction = 1 + rest * (-0.692_85 + rest * (0.234_85 + rest * -0.042))
        return Double(sign: .plus, exponent: -Int(whole), significand: 1) * fraction
    }
}
