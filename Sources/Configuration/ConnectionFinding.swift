import Log

/// What a try to reach something said, for people.
package struct ConnectionFinding: Hashable, Sendable {
    /// The key that names what was tried.
    package let place: String
    package let text: String
    package let isFailure: Bool

    package static func works(_ place: String, _ text: String) -> Self {
        Self(place: place, text: text, isFailure: false)
    }

    /// The text says what is wrong, and what to do.
    package static func fails(_ place: String, _ text: String) -> Self {
        Self(place: place, text: text, isFailure: true)
    }

    private init(place: String, text: String, isFailure: Bool) {
        self.place = Secrets.withoutKeys(place)
        self.text = Secrets.withoutKeys(Secrets.withoutPasswords(text))
        self.isFailure = isFailure
    }

    /// One line, whatever peers' words are in it.
    package var line: String { "\(isFailure ? "failed" : "ok    ")  \(place): \(text)".printable }
}
