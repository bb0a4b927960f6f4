/// Why the Schema Registry did not answer a request.
package enum RegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// It answers nobody, whatever it is asked: no connection, no answer in time, or a failure.
    case unreachable(String)
    /// It answered, but neither with this schema nor that there is none; others it may give.
    case refused(status: Int, String)
    /// It stumbles over this schema, and answers otherwise.
    case failed(String)
    /// The answer is longer than any that is taken.
    case tooLarge
    /// A file that holds a secret could not be read.
    case noSecret(String)

    package var description: String {
        switch self {
        case .unreachable(let cause): cause
        case .refused(let status, let cause): "status \(status): \(cause)"
        case .failed(let cause): "\(cause), but it answers other requests"
        case .tooLarge: "the answer is longer than \(HTTPTransfer.maxByteCount >> 20) MiB"
        case .noSecret(let cause): cause
        }
    }

    /// Whether no other schema could be had now either.
    ///
    /// What a producer writes decides which schema is requested, and must not decide this.
    package var concernsAll: Bool {
        switch self {
        case .unreachable, .noSecret: true
        case .refused, .failed, .tooLarge: false
        }
    }
}
