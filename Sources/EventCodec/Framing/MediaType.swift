import Vocabulary

/// A media type without its parameters (RFC 9110, 8.3.1), in lower case.
struct MediaType: Hashable {
    /// Of the header that carries it, in lower case.
    static let headerName = "content-type"

    let name: String

    init(_ text: String) {
        let essence = text.prefix { $0 != ";" }.filter { !$0.isWhitespace }
        name = essence.lowercased()
    }

    /// JSON itself, or a format built on it (RFC 6839, 3.1).
    var isJSON: Bool {
        name == "application/json" || name == "text/json" || name.hasSuffix("+json")
    }

    /// Any format of CloudEvents, which means structured mode ("Kafka Protocol Binding", 3).
    var isCloudEvents: Bool { name.hasPrefix("application/cloudevents") }

    /// One event in JSON is what a record can be.
    func checkStructuredCloudEvent() throws(FramingError) {
        guard name != "application/cloudevents+json" else { return }
        let message =
            name.hasPrefix("application/cloudevents-batch")
            ? "a batch of CloudEvents is not supported: one record is one event"
            : "only the JSON format of CloudEvents is supported"
        throw FramingError(.cloudEventsStructured, CloudEventAttributes.rule, message)
    }
}
