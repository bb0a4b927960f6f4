import Delivery
import Vocabulary

/// The Schema Registry, and what members know of it.
extension World {
    mutating func fetchSchema(_ schema: SchemaReference, by member: Member) {
        coverage.note(.schemaFetched)
        let isDown = isRegistryDown > 0
        let succeeds = !isDown && !strikes(plan.chances.schemaFetchFails)
        let delay = isDown ? dice.seconds(0...5) : latency() * 2
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
        let unregisteredSince = unregisteredSince(by: member)
        for delivery in member.engine.schemaFetched(schema) {
            guard let record = member.engine.delivery(delivery)?.record,
                let event = event(of: record)
            else { continue }
            member.engine.recordDecoded(
                delivery,
                decoded(event, by: member),
                now: moment,
                unregisteredSince: unregisteredSince
            )
        }
    }
}
