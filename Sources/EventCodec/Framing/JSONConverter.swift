import JSON
import Vocabulary

/// Kafka Connect's converter, which by default (`schemas.enable=true`) wraps each value.
enum JSONConverter {
    /// What there is to say of a value with the members of the envelope and no others.
    static func violation(_ value: JSONNode, _ document: JSONDocument) -> Violation? {
        guard value.isObject, value.count == 2 else { return nil }
        var names: Set<String> = []
        var cursor = document.children(of: value)
        while let (name, _) = document.nextMember(&cursor) {
            names.insert(document.string(name) ?? "")
        }
        guard names == ["schema", "payload"] else { return nil }
        return Violation(
            instanceLocation: document.pointer(to: value),
            keywordLocation: "json-converter",
            message: """
                is the envelope of Kafka Connect's JsonConverter, not an event; set \
                schemas.enable=false at the converter
                """
        )
    }
}
