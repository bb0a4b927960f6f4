/// A random generator that always returns the maximum.
struct LongestWait: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}
