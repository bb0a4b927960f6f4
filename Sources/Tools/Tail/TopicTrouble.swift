import Configuration
import KafkaIO
import Log
import Vocabulary

extension ServiceError {
    /// Why a command could not begin to read a topic.
    ///
    /// - Parameters:
    ///   - error: what the client says.
    ///   - topic: the topic.
    ///   - key: where the configuration names it.
    ///   - configuration: for the brokers that do not answer.
    init(
        _ error: KafkaError,
        reading topic: KafkaTopic,
        of key: String,
        _ configuration: Configuration
    ) {
        switch error.code {
        case .unknownTopicOrPartition, .clientUnknownTopic:
            self.init(text: "\(key): topic '\(topic)' does not exist; create it")
        case _ where error.isOfConnection:
            self.init(
                text: "kafka.bootstrap_servers: no answer from "
                    + "\(configuration.kafka.bootstrapServers): \(error.text)"
            )
        default: self.init(text: "\(key): '\(topic)': \(error.text)")
        }
    }
}
