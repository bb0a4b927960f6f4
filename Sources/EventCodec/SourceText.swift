import JSON
import Vocabulary

/// An outcome's `source` up to its partition, as it stands in the JSON object.
///
/// Many records of one partition end one after the other, and then nothing is written anew.
struct SourceText: Sendable {
    /// Without the end of the object: `offset` is to follow.
    private(set) var utf8: [UInt8] = []
    private var source: TopicPartition?

    mutating func set(_ source: TopicPartition) {
        if let last = self.source, last.partition == source.partition,
            last.topic.name.hasSameBytes(as: source.topic.name)
        {
            return
        }
        self.source = source
        utf8.removeAll(keepingCapacity: true)
        var writer = JSONWriter(buffer: utf8)
        utf8 = []
        writer.name(plain: "source")
        writer.beginObject()
        writer.member("topic", source.topic.name)
        writer.member("partition", Int64(source.partition))
        utf8 = writer.bytes
    }
}
