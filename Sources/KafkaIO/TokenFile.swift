import CRdkafka
import Glibc

/// A file with a token for OAUTHBEARER; another program replaces it before the token expires.
struct TokenFile {
    /// The property with the file's path; our own, because librdkafka has none.
    static let property = "sasl.oauthbearer.token_file"
    private static let maxByteCount = 65_536
    /// librdkafka requests the next token after four fifths of this time.
    ///
    /// Only those who can read a token know when it expires. The broker enforces it: it closes the
    /// connection, or requires a new login before that (KIP-368).
    private static let lifetimeMilliseconds: Int64 = 75_000

    let path: String

    /// Gives the client the file's token.
    ///
    /// If there is none, the client reports why, and requests one again after 10 s.
    func give(to client: OpaquePointer) {
        do throws(TokenFileError) {
            let token = try read()
            let (code, text) = unsafe withErrorText { buffer, byteCount in
                // The broker reads the principal from the token, not from this name.
                unsafe rd_kafka_oauthbearer_set_token(
                    client,
                    token,
                    Self.now + Self.lifetimeMilliseconds,
                    "heliograph",
                    nil,
                    0,
                    buffer,
                    byteCount
                )
            }
            guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
            throw TokenFileError(sentence: text)
        } catch {
            let problem = "kafka.properties.\(Self.property): \(path) \(error.sentence)"
            _ = unsafe rd_kafka_oauthbearer_set_token_failure(client, problem)
        }
    }

    /// Why the file has no usable token; nil: it has one.
    var problem: String? {
        do throws(TokenFileError) {
            _ = try read()
            return nil
        } catch {
            return "\(Self.property): \(path) \(error.sentence)"
        }
    }

    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    private func read() throws(TokenFileError) -> String {
        // Non-blocking: opening a named pipe without a writer would block the loop.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .system }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 8192)
        while bytes.count <= Self.maxByteCount {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                // SAFETY: read(2) writes at most the count it is given, the buffer's own.
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system }
            guard count > 0 else { break }
            bytes.append(contentsOf: chunk[..<count])
        }
        let token = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        // Only the characters of RFC 6750, 2.1: others could break the message around the token.
        guard token.count == 1, bytes.count <= Self.maxByteCount,
            let word = token.first, word.allSatisfy(Self.isOfToken)
        else { throw TokenFileError(sentence: "holds no token; expected one line") }
        return String(decoding: word, as: UTF8.self)
    }

    private static func isOfToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "-._~+/=".utf8.contains(byte)
        }
    }
}

private struct TokenFileError: Error {
    /// Continues a sentence that starts with the file's path.
    let sentence: String

    /// The error in `errno`.
    static var system: TokenFileError {
        // SAFETY: a static string, or one of this thread (strerror(3) of glibc).
        TokenFileError(sentence: unsafe "cannot be read: \(String(cString: strerror(errno)))")
    }
}
