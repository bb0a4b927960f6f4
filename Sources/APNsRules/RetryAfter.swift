public import Vocabulary

/// Reads the header `Retry-After` (RFC 9110, 10.2.3).
///
/// APNs does not document it; a proxy before it may send it.
public enum RetryAfter {
    /// Longer waits are cut to this, so that one wrong clock cannot stop anything permanently.
    public static let maxDelay: Duration = .seconds(24 * 3600)

    /// The delay; nil when the value is neither seconds nor a date in the preferred form.
    ///
    /// A date in the past is not a delay.
    public static func delay(_ value: some StringProtocol, now: Timestamp) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(isDigit) {
            // Digits that overflow are a long time.
            return min(Int64(value).map { .seconds($0) } ?? maxDelay, maxDelay)
        }
        guard let date = HTTPDate.timestamp(value) else { return nil }
        return min(max(.seconds(date.seconds - now.seconds), .zero), maxDelay)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
