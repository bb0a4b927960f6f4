/// Why validation could not start.
package struct ValidationProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file path as given.
    package let place: String
    package let message: String

    package var description: String { "\(place): \(message)" }
}
