/// Why nothing could be validated.
package struct ValidationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// A file's path, as it was given.
    package let place: String
    package let message: String

    package var description: String { "\(place): \(message)" }
}
