import CRdkafka
import Glibc

/// A file with a token for OAUTHBEARER, which somebody replaces before the token expires.
struct TokenFile {
    /// The property that names it; librdkafka has none for it.
    static let property = "sasl.oauthbearer.token_file"
    private static let maxByteCount = 65_536
    /// librdkafka asks for the next token when four fifths of this have passed.
    ///
    /// When a token really expires only those know who can read it; the broker says so by closing
    /// the connection, or wants to see it again before (KIP-368).
    private static let lifetimeMilliseconds: Int64 = 75_000

    let path: String

    /// Gives the client the file's token, or has it say why there is none, and ask again in 10 s.
    func give(to client: OpaquePointer) {
        do throws(TokenFileError) {
            let token = try read()
            var text = [CChar](repeating: 0, count: 512)
            let code = unsafe text.withUnsafeMutableBufferPointer { buffer in
                // The broker takes the principal from the token itself.
                unsafe rd_kafka_oauthbearer_set_token(
                    client,
                    token,
                    Self.now + Self.lifetimeMilliseconds,
                    "heliograph",
                    nil,
                    0,
                    buffer.baseAddress,
                    buffer.count
                )
            }
            guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return }
            throw TokenFileError(sentence: String(nulTerminated: text))
        } catch {
            let problem = "kafka.properties.\(Self.property): \(path) \(error.sentence)"
            _ = unsafe rd_kafka_oauthbearer_set_token_failure(client, problem)
        }
    }

    /// What keeps a client from its token; nil: nothing.
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
        // Not blocking, or a named pipe without a writer would hold the loop here.
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
        // The characters of RFC 6750, 2.1, and no others: it stands in a message between others.
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
    /// Completes a sentence about the file.
    let sentence: String

    /// Of `errno`.
    static var system: TokenFileError {
        // SAFETY: a static string, or one of this thread (strerror(3) of glibc).
        TokenFileError(sentence: unsafe "cannot be read: \(String(cString: strerror(errno)))")
    }
}
