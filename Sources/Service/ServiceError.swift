/// Why the service cannot start or go on: one line for each problem, for people.
package struct ServiceError: Error, CustomStringConvertible {
    package let lines: [String]
    /// Somebody else is the cause, and trying again may help.
    package let mayPass: Bool

    package init(lines: [String]) {
        self.lines = lines
        mayPass = false
    }

    package init(text: String, mayPass: Bool = false) {
        lines = [text]
        self.mayPass = mayPass
    }

    package var description: String { lines.joined(separator: "\n") }
}
