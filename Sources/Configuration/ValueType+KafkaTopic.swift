import Vocabulary

extension ValueType where Value == KafkaTopic {
    static let maxTopicByteCount = 249

    /// Follows Kafka's rule for names (`org.apache.kafka.common.internals.Topic`).
    static let kafkaTopic = ValueType(
        name: "Kafka topic",
        expectation: "the name of a Kafka topic: 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'",
        notation: .text,
        placeholder: KafkaTopic(""),
        parse: { text in
            let isName =
                (1...maxTopicByteCount).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    $0.isDigit || $0.isUppercase || $0.isLowercase || $0 == UInt8(ascii: ".")
                        || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
                }
            return isName && text != "." && text != ".." ? KafkaTopic(text) : nil
        },
        print: \.name
    )
}
