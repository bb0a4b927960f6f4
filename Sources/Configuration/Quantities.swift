import Vocabulary

/// Durations in human-readable form: one number, one unit.
package enum DurationText {
    private static let units: [(suffix: String, nanoseconds: Int64)] = [
        ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    /// - Returns: nil unless `text` is a whole number followed by `ms`, `s`, `m` or `h`.
    package static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let unit = units.first(where: { $0.suffix == text.dropFirst(digits.count) }),
            let count = Int64(digits)
        else { return nil }
        let (nanoseconds, overflow) = count.multipliedReportingOverflow(by: unit.nanoseconds)
        return overflow ? nil : .nanoseconds(nanoseconds)
    }

    /// Formats a duration in the largest unit that divides it.
    package static func print(_ duration: Duration) -> String {
        let nanoseconds = duration.nanoseconds
        guard nanoseconds > 0 else { return "0s" }
        let unit = units.last { nanoseconds.isMultiple(of: $0.nanoseconds) } ?? units[0]
        return "\(nanoseconds / unit.nanoseconds)\(unit.suffix)"
    }
}

/// Byte sizes in human-readable form.
package enum ByteSize {
    private static let binary = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)]
    private static let decimal = [
        ("kB", 1000), ("KB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000),
    ]

    /// - Returns: nil unless `text` is a whole number, optionally followed by a unit.
    static func parse(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = Int(digits) else { return nil }
        let suffix = text.dropFirst(digits.count)
        if suffix.isEmpty { return count }
        guard let unit = (binary + decimal).first(where: { $0.0 == suffix }) else { return nil }
        let (size, overflow) = count.multipliedReportingOverflow(by: unit.1)
        return overflow ? nil : size
    }

    /// Formats a size in the largest binary unit that divides it.
    package static func print(_ size: Int) -> String {
        guard size > 0, let unit = binary.last(where: { size.isMultiple(of: $0.1) })
        else { return "\(size)" }
        return "\(size / unit.1)\(unit.0)"
    }
}
