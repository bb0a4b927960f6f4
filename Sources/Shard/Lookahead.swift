import Delivery
import HTTP2IO
import KafkaIO
import Vocabulary

/// Whom the shard's batches are about, further on than it has come: `DeliveryEngine.lookAhead`
/// fetches them.
extension [ProducerEvent] {
    /// The delivery that the event, a report mostly, is of.
    func delivery(at index: Int) -> DeliveryID? {
        guard index < count, case .deliveryReported(let tag, _) = self[index] else { return nil }
        return PublicationTag(rawValue: tag)?.delivery
    }
}

extension Span<ConnectionEvent> {
    /// The delivery that is answered so far ahead; its bytes are of no interest.
    func delivery(ahead part: DeliveryPart) -> DeliveryID? {
        guard part != .bytes, part.distance < count,
            case .responseArrived(let tag, _) = self[part.distance]
        else { return nil }
        return DeliveryID(rawValue: tag)
    }
}
