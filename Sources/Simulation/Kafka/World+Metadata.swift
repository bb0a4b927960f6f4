import Delivery
import Vocabulary

/// The metadata of committed offsets, and tampering with it.
extension World {
    /// The metadata that the coordinator returns, which may differ from what was committed.
    mutating func tampered(
        _ stored: SimulatedKafka.StoredOffset,
        of partition: PartitionID,
        for member: Member
    ) -> String {
        guard strikes(plan.chances.metadataForged, .metadata, of: member) else {
            return stored.metadata
        }
        coverage.note(.metadataForged)
        let text = stored.metadata
        switch dice[.metadata, member].number(below: 6) {
        case 0: return ""
        case 1: return "{\"committed-by\":\"another tool\"}"
        case 2:
            let length = dice[.metadata, member].number(0...max(1, text.utf8.count - 1))
            return String(text.prefix(length))
        case 3: return changed(text, for: member)
        // Valid, but for another partition.
        case 4: return dice[.metadata, member].element(kafka.partitions).stored?.metadata ?? ""
        // Valid, but for an earlier offset; after a cut, it could be valid for this one again.
        default: return kafka.partitions[partition.index].metadataBefore
        }
    }

    private mutating func changed(_ text: String, for member: Member) -> String {
        var bytes = Array(text.utf8)
        guard !bytes.isEmpty else { return "p1D" }
        let place = dice[.metadata, member].number(below: bytes.count)
        bytes[place] = UInt8(ascii: "A") + UInt8(dice[.metadata, member].number(below: 26))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Notes the offsets that the metadata marks as settled; they must not be sent again.
    func noteStored(_ positions: [PartitionID: CommittedPosition?], for member: Member) {
        for (partition, position) in positions {
            // A newer answer replaces an older one that was for some partitions only.
            member.settledBefore[partition] = nil
            member.recipientsBefore[partition] = nil
            member.forged.remove(partition)
            if position?.metadata != kafka.partitions[partition.index].stored?.metadata {
                member.forged.insert(partition)
            }
            guard let position, !isOutdated(partition, for: member),
                let reader = CommitMetadataReader(
                    position.metadata,
                    base: position.offset.rawValue,
                    of: kafka.partitions[partition.index].name
                ), reader.horizon <= kafka.partitions[partition.index].end
            else { continue }
            member.settledBefore[partition] = reader.settled
            member.recipientsBefore[partition] = reader.recipients
        }
    }
}
