/// Why the Schema Registry did not say what it was asked.
package enum RegistryError: Error, Hashable, Sendable, CustomStringConvertible {
    /// No connection, no answer in time, or none that could be taken.
    case unreachable(String)
    /// It answered, but neither with a schema nor that there is none.
    case refused(status: Int, String)
    /// A file that holds a secret could not be read.
    case noSecret(String)

    package var description: String {
        switch self {
        case .unreachable(let cause): cause
        case .refused(let status, let cause): "status \(status): \(cause)"
        case .noSecret(let cause): cause
        }
    }
}
