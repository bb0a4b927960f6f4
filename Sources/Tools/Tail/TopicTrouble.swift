import Configuration
import KafkaIO
import Log
import Vocabulary

extension ServiceError {
    /// Makes the error for a command that cannot start reading a topic.
    ///
    /// - Parameters:
    ///   - error: The Kafka client's error.
    ///   - topic: The topic.
    ///   - key: The configuration key that names the topic.
    ///   - configuration: Names the brokers, in case they do not answer.
    init(
        _ error: KafkaError,
        reading topic: KafkaTopic,
        of key: String,
        _ configuration: Configuration
    ) {
        switch error.code {
        case .unknownTopicOrPartition, .clientUnknownTopic:
            self.init(text: "\(key): topic '\(topic)' does not exist; check the name, or create it")
        case _ where error.isOfConnection:
            self.init(
                text: "kafka.bootstrap_servers: no answer from "
                    + "\(configuration.kafka.bootstrapServers): \(error.text)"
            )
        default: self.init(text: "\(key): '\(topic)': \(error.text)")
        }
    }
}
