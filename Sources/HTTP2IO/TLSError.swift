import COpenSSL
import Glibc
import SystemIO

/// A TLS error, from reading key files to the last record.
public enum TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A certificate, key or trust file is unusable; the text names it and says why.
    case badMaterial(String)
    /// The peer's certificate is not trusted; OpenSSL's X509_V_ERR code and text.
    case untrustedCertificate(code: Int, text: String)
    /// The peer rejected this side's certificate, or requires one (RFC 8446, 6.2); OpenSSL's text.
    case certificateRefused(String)
    /// The peer does not offer `h2` (RFC 7301; RFC 9113, 3.2).
    case noCommonProtocol
    /// The peer's first bytes are not a TLS record; `isHTTP1`: they look like HTTP/1.
    case notTLS(isHTTP1: Bool)
    /// The peer ended the connection with a TLS alert, or violated the protocol.
    case failed(String)

    public var description: String {
        switch self {
        case .badMaterial(let text): text
        case .untrustedCertificate(_, let text): "certificate verification failed: \(text)"
        case .certificateRefused(let text): "the peer refused the client certificate: \(text)"
        case .noCommonProtocol: "the peer does not speak HTTP/2 (ALPN h2 refused)"
        case .notTLS(isHTTP1: true): "the peer speaks plain HTTP, not TLS"
        case .notTLS(isHTTP1: false): "the peer does not speak TLS"
        case .failed(let text): "TLS failed: \(text)"
        }
    }
}

/// OpenSSL's error queue of this thread (`ERR_get_error(3)`).
public enum OpenSSLErrors {
    /// Empties the queue; returns the text and reason code of its oldest entry.
    static func take() -> (reason: Int32, text: String)? {
        let code = ERR_get_error()
        guard code != 0 else { return nil }
        ERR_clear_error()
        // Like ERR_GET_REASON in OpenSSL 3 (err.h): a system error has errno in the low 31 bits.
        let isSystemError = code & 0x8000_0000 != 0
        let reason = Int32(truncatingIfNeeded: code & (isSystemError ? 0x7FFF_FFFF : 0x7F_FFFF))
        if isSystemError { return (reason, systemErrorText(reason)) }
        // SAFETY: the reason strings are static.
        guard let text = unsafe ERR_reason_error_string(code) else {
            return (reason, "OpenSSL error \(code)")
        }
        return unsafe (reason, String(cString: text))
    }

    public static func takeText() -> String { take()?.text ?? "unknown OpenSSL error" }

    static func clear() { ERR_clear_error() }
}
