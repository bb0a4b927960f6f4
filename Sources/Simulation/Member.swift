import Delivery
import Vocabulary

/// One process of the service: the real engine, and what its shard would hold.
struct Member {
    struct Connection {
        var isOpen = false
        var isDraining = false
        var limit = 0
        var streams: Set<DeliveryID> = []
        /// Deliveries in the order of their streams, for a GOAWAY's last stream ID.
        var order: [DeliveryID] = []
    }

    let id: MemberID
    var engine: DeliveryEngine
    var connections: [ConnectionID: Connection] = [:]
    /// Where it reads next, by partition.
    var positions: [PartitionID: Int64] = [:]
    var paused: Set<PartitionID> = []
    var nextTurn: Instant?
    /// Records taken and not settled, for the bound.
    var isLeaving = false
}
