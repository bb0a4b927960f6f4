/// Strings that are looked for often, in one buffer: comparing counts no references.
public struct JSONNameList: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public let hash: UInt32
        public let start: Int32
        public let byteCount: Int32
    }

    private(set) var bytes: [UInt8] = []
    public private(set) var entries: [Entry] = []

    public init() {}

    public var count: Int { entries.count }

    /// Adds a name and returns its position.
    public mutating func append(_ text: String) -> Int {
        let content = Array(text.utf8)
        entries.append(
            Entry(
                hash: StringContent.hash(of: content),
                start: Int32(bytes.count),
                byteCount: Int32(content.count)
            )
        )
        bytes += content
        return entries.count - 1
    }

    /// The text of a name, for messages.
    public func text(_ position: Int) -> String {
        let entry = entries[position]
        let start = Int(entry.start)
        return String(decoding: bytes[start..<start + Int(entry.byteCount)], as: UTF8.self)
    }

    /// The hash that the parser computes for a string of that content.
    public func hash(_ position: Int) -> UInt32 { entries[position].hash }
}

extension JSONDocument {
    /// Whether a string's content is a name of the list.
    public func isEqual(
        _ node: JSONNode,
        to position: Int,
        in names: JSONNameList
    ) -> Bool {
        let entry = names.entries[position]
        guard node.hash == entry.hash, node.isString else { return false }
        return hasContent(node, of: position, in: names)
    }

    /// Whether a string's content is a name of the list, without a look at the hash.
    public func hasContent(
        _ node: JSONNode,
        of position: Int,
        in names: JSONNameList
    ) -> Bool {
        let entry = names.entries[position]
        let start = Int(entry.start)
        let range = start..<start + Int(entry.byteCount)
        guard node.kind == .string else {
            return content(of: node).elementsEqual(names.bytes[range])
        }
        return StringContent.isEqual(source, node.contentRange, names.bytes, range)
    }

    /// Whether an object has a member of that name.
    public func member(
        of object: JSONNode,
        named position: Int,
        in names: JSONNameList
    ) -> JSONNode? {
        guard object.isObject else { return nil }
        var cursor = children(of: object)
        while let (candidate, value) = nextMember(&cursor) {
            if isEqual(candidate, to: position, in: names) { return value }
        }
        return nil
    }
}
