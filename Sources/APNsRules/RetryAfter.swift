public import Vocabulary

/// Parses the header `Retry-After` (RFC 9110, 10.2.3).
///
/// APNs does not document it, but a proxy may send it.
public enum RetryAfter {
    /// Longer delays are shortened to this, so that a wrong clock cannot block anything
    /// permanently.
    public static let maxDelay: Duration = .seconds(24 * 3600)

    /// The delay; nil if the value is neither seconds nor a date in the preferred form.
    ///
    /// A date in the past results in no delay.
    public static func delay(_ value: some StringProtocol, now: Timestamp) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(isDigit) {
            // Treat an overflow as a very long time.
            return min(Int64(value).map { .seconds($0) } ?? maxDelay, maxDelay)
        }
        guard let date = HTTPDate.timestamp(value) else { return nil }
        return min(max(.seconds(date.seconds - now.seconds), .zero), maxDelay)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
