import JSON

/// How far fetching is, from librdkafka's statistics (STATISTICS.md, `topics.*.partitions.*`).
package struct FetchState: Hashable, Sendable {
    /// Records of a partition that is being fetched wait: in Kafka, or in the client's queue.
    ///
    /// Counted up to the last stable offset, and by what was fetched, not by what was delivered:
    /// transaction markers and aborted records are never delivered.
    package let isBehind: Bool

    /// - Returns: nil when the bytes are not the statistics of a consumer.
    package init?(statistics: [UInt8]) {
        guard let root = try? JSONValue.parse(statistics), let topics = root["topics"]?.object
        else { return nil }
        isBehind = topics.members.contains { topic in
            topic.value["partitions"]?.object?.members.contains { partition in
                Self.isBehind(partition.value)
            } ?? false
        }
    }

    private static func isBehind(_ partition: JSONValue) -> Bool {
        guard partition["fetch_state"]?.string == "active" else { return false }
        if let queued = partition["fetchq_cnt"]?.integer, queued > 0 { return true }
        guard let next = partition["next_offset"]?.integer,
            let end = partition["ls_offset"]?.integer, next >= 0
        else { return false }
        return next < end
    }
}
