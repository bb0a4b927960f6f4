/// Why the service cannot start or go on: one line for each problem, for people.
package struct ServiceError: Error, CustomStringConvertible {
    package let lines: [String]

    package init(lines: [String]) {
        self.lines = lines
    }

    package init(text: String) {
        lines = [text]
    }

    package var description: String { lines.joined(separator: "\n") }
}
