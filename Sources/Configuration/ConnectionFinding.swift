import Log

/// The result of testing a connection, for people.
package struct ConnectionFinding: Hashable, Sendable {
    /// The key that configures what was tested.
    package let place: String
    package let text: String
    package let isFailure: Bool

    package static func works(_ place: String, _ text: String) -> Self {
        Self(place: place, text: text, isFailure: false)
    }

    /// Makes a failure; the text says what is wrong, and what to do.
    package static func fails(_ place: String, _ text: String) -> Self {
        Self(place: place, text: text, isFailure: true)
    }

    private init(place: String, text: String, isFailure: Bool) {
        self.place = Secrets.withoutKeys(place)
        self.text = Secrets.withoutKeys(Secrets.withoutPasswords(text))
        self.isFailure = isFailure
    }

    /// One line; texts from peers are made printable.
    package var line: String { "\(isFailure ? "failed" : "ok    ")  \(place): \(text)".printable }
}
