import Vocabulary

/// The simulated world's only source of randomness; everything follows from its seed.
struct Dice {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func seed() -> UInt64 { generator.next() }

    /// A random number from 0 up to, but not including, 1.
    mutating func unit() -> Double { Double(generator.next() >> 11) * 0x1p-53 }

    mutating func comesUp(_ probability: Double) -> Bool {
        probability > 0 && unit() < probability
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(generator.next() % UInt64(range.count))
    }

    mutating func number(below bound: Int) -> Int { Int(generator.next() % UInt64(bound)) }

    mutating func element<Element>(_ elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }

    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(number(range))
    }

    mutating func seconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(number(range.lowerBound * 1000...range.upperBound * 1000))
    }

    /// A random, exponentially distributed time: the gaps of a Poisson process.
    mutating func wait(mean: Duration) -> Duration {
        let nanoseconds = Double(mean.nanoseconds) * -Self.logarithm(1 - unit())
        return .nanoseconds(Int64(min(nanoseconds, 1e18)))
    }

    /// The natural logarithm, which the standard library does not have.
    ///
    /// With `x = m * 2^e`: `ln x = e ln 2 + 2 artanh((m - 1) / (m + 1))`. The series converges
    /// quickly because `m` lies between 1 and 2.
    private static func logarithm(_ x: Double) -> Double {
        let ratio = (x.significand - 1) / (x.significand + 1)
        var power = ratio
        var sum = 0.0
        for odd in stride(from: 1.0, through: 21, by: 2) {
            sum += power / odd
            power *= ratio * ratio
        }
        return Double(x.exponent) * 0.693_147_180_559_945_3 + 2 * sum
    }
}
