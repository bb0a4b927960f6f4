import APNsRules
package import HTTP2IO
import Log
package import Vocabulary

/// A GOAWAY, described for operators.
package struct Farewell: Hashable, Sendable, CustomStringConvertible {
    /// APNs' reason; nil: there is none.
    package let reason: Reason?
    /// Whether its error code reports a fault of this side or of the peer.
    package let isError: Bool
    /// Text such as `GOAWAY NO_ERROR: Shutdown`.
    package let description: String

    private static let maxTextByteCount = 64

    package init(_ errorCode: HTTP2ErrorCode, debugData: [UInt8]) {
        reason = APNsErrorBody(parsing: debugData).reason
        isError = errorCode != .noError
        let text = reason?.text ?? String(decoding: debugData, as: UTF8.self)
        let cause = text.cut(toByteCount: Self.maxTextByteCount).printable
        description = "GOAWAY \(errorCode)" + (cause.isEmpty ? "" : ": \(cause)")
    }

    /// What the reason means, and what to do; empty if unknown.
    package var advice: [String] {
        guard case .apns(let known)? = reason,
            let row = ReasonTable.rows.first(where: { $0.reason == known })
        else { return [] }
        return row.advice
    }
}
