import Delivery
import Vocabulary

/// The Schema Registry, and how members learn its schemas.
extension World {
    mutating func fetchSchema(_ schema: SchemaReference, by member: Member) {
        coverage.note(.schemaFetched)
        let isDown = isRegistryDown > 0
        let succeeds = !isDown && !strikes(plan.chances.schemaFetchFails, .schema, of: member)
        let delay =
            isDown
            ? dice[.schema, member].seconds(0...5) : latency(.schema, of: member) * 2
        after(delay, .schemaAnswered(member.id, schema, succeeds: succeeds))
    }

    mutating func schemaAnswered(_ id: MemberID, _ schema: SchemaReference, succeeds: Bool) {
        guard let member = member(id) else { return }
        defer { wake(member) }
        guard succeeds else {
            coverage.note(.schemaFetchFailed)
            return member.engine.schemaFetchFailed(schema, now: moment)
        }
        member.knownSchemas.insert(schema)
        member.engine.schemaFetched(schema)
    }

    /// Decodes some of the records that waited for their schema; the others follow in later turns.
    mutating func decodeAgain(_ member: Member) {
        for _ in 0..<dice[.decoding, member].number(1...4) {
            guard let delivery = member.engine.nextToDecode(),
                let waiting = member.delivery(delivery)?.arrival,
                let event = event(of: waiting)
            else { break }
            let arrival = reader.read(
                again: waiting,
                decoded(event, waiting.record, by: member),
                deadSince: deadSince(by: member)
            )
            member.engine.recordDecoded(delivery, arrival, now: moment)
        }
        if member.engine.hasToDecode { wake(member) }
    }
}
