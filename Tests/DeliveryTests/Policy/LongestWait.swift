/// Dice that always draw the end of the range.
struct LongestWait: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}
