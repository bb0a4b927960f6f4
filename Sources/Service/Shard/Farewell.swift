import APNsRules
import HTTP2IO
import Vocabulary

/// What a GOAWAY says, for people.
struct Farewell: Hashable, Sendable, CustomStringConvertible {
    /// APNs' word; nil: there is none.
    let reason: Reason?
    /// Its code is that of a fault, ours or the peer's.
    let isError: Bool
    /// `GOAWAY NO_ERROR: Shutdown`.
    let description: String

    private static let maxTextByteCount = 64

    init(_ errorCode: HTTP2ErrorCode, debugData: [UInt8]) {
        reason = APNsErrorBody(parsing: debugData).reason
        isError = errorCode != .noError
        let text = reason?.text ?? String(decoding: debugData, as: UTF8.self)
        let cause = text.cut(toByteCount: Self.maxTextByteCount).printable
        description = "GOAWAY \(errorCode)" + (cause.isEmpty ? "" : ": \(cause)")
    }

    /// What the reason means, and what to do; empty where nobody knows.
    var advice: [String] {
        guard case .apns(let known)? = reason,
            let row = ReasonTable.rows.first(where: { $0.reason == known })
        else { return [] }
        return row.advice
    }
}
