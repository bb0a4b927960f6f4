/// Why the service cannot start or continue: one line for each problem, for people.
package struct ServiceError: Error, CustomStringConvertible {
    package enum Outlook: Hashable, Sendable {
        /// Somebody has to see to it.
        case lasting
        /// Kafka does not answer: trying again may help, however long it takes.
        case unanswered
        /// Topics that a broker does not know, which it may not have heard of yet.
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

    /// Each line is one, whatever peers' words are in it.
    package var description: String { lines.map(\.printable).joined(separator: "\n") }
}
