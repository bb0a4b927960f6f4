/// Why the service cannot start or continue: one line per problem, for people.
package struct ServiceError: Error, CustomStringConvertible {
    package enum Outlook: Hashable, Sendable {
        /// Someone must fix the problem.
        case lasting
        /// Kafka does not answer: retrying may help, however long it takes.
        case unanswered
        /// A broker does not know the topics; they may be too new for it.
        case unknownTopics
    }

    package let lines: [String]
    package let outlook: Outlook

    package init(lines: [String], _ outlook: Outlook = .lasting) {
        self.lines = lines
        self.outlook = outlook
    }

    package init(text: String, _ outlook: Outlook = .lasting) {
        self.init(lines: [text], outlook)
    }

    /// One line for each of `lines`, whatever text from peers they contain.
    package var description: String { lines.map(\.printable).joined(separator: "\n") }
}
