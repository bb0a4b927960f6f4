import Delivery
import EventCodec
import KafkaIO
import SystemIO
import Vocabulary

extension Shard {
    /// Takes schemas that were loaded anew; called between two records.
    mutating func takeSchemas() {
        if let newer = schemas.payloadSchemas(&schemasVersion) {
            decoder.payloadSchemas = newer
        }
        for answer in control.takeSchemaAnswers() { schemaAnswered(answer) }
        decodeAgain()
    }

    func fetchSchema(_ schema: SchemaReference) {
        schemas.fetch?(schema, control)
    }

    private mutating func schemaAnswered(_ answer: SchemaAnswer) {
        guard let schema = answer.result else {
            engine.schemaFetchFailed(answer.schema, now: now)
            return
        }
        if (decoder.registeredSchemas?.count ?? 0) >= ShardSchemas.maxRegistered {
            decoder.registeredSchemas = [:]
        }
        decoder.registeredSchemas?[answer.schema] = schema
        engine.schemaFetched(answer.schema)
        if case .usable = schema { return }
        uselessSchemas.append(answer.schema)
    }

    /// Decodes what has waited for its schema.
    private mutating func decodeAgain() {
        guard engine.hasToDecode || !uselessSchemas.isEmpty else { return }
        let deadTokens = settings.suppressedTokens
        var slice = DecodeSlice(from: SystemClock.now)
        while let id = engine.nextToDecode() {
            guard let waiting = engine.delivery(id)?.arrival else { continue }
            var record = waiting.record
            let decoded = decode(&record, as: role(of: record.partition))
            let arrival = reader.read(again: waiting, decoded) { deadTokens[$0] }
            engine.recordDecoded(id, arrival, now: now)
            if slice.recordDecoded(now: SystemClock.now) { return }
        }
        // What is of no use now may be later: the next record asks again.
        for schema in uselessSchemas { decoder.registeredSchemas?[schema] = nil }
        uselessSchemas = []
    }
}
