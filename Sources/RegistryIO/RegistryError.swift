/// Why the Schema Registry did not answer a request.
package enum RegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No request succeeds: no connection, no answer in time, or a server failure.
    case unreachable(String)
    /// It answered, but neither with the schema nor that there is none; other schemas may work.
    case refused(status: Int, String)
    /// It fails for this schema, but answers other requests.
    case failed(String)
    /// The answer is longer than the limit.
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

    /// Whether requests for any other schema would fail now as well.
    ///
    /// Producers choose which schema is requested, so a single schema must not decide this.
    package var concernsAll: Bool {
        switch self {
        case .unreachable, .noSecret: true
        case .refused, .failed, .tooLarge: false
        }
    }
}
