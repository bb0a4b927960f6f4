import CSimdjson

/// A string that is looked up often: its bytes, and the parser's hash of them.
public struct JSONName: Hashable, Sendable {
    public let text: String
    let bytes: [UInt8]
    public let contentHash: UInt32

    public init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
        contentHash = StringContent.hash(of: bytes)
    }
}

extension JSONDocument {
    /// The value of the first member with this name; nil: there is none.
    public func member(of object: JSONNode, named name: JSONName) -> JSONNode? {
        guard object.isObject else { return nil }
        var cursor = children(of: object)
        while let (candidate, value) = nextMember(&cursor) {
            if isEqual(candidate, to: name) { return value }
        }
        return nil
    }

    /// Whether a string's content is that of `name`.
    public func isEqual(_ node: JSONNode, to name: JSONName) -> Bool {
        guard node.isString, node.hash == name.contentHash else { return false }
        return hasContent(node, name.bytes)
    }

    private func hasContent(_ node: JSONNode, _ bytes: [UInt8]) -> Bool {
        guard node.kind == .string else { return content(of: node).elementsEqual(bytes) }
        return StringContent.isEqual(
            source,
            node.contentRange,
            bytes,
            bytes.indices
        )
    }
}

/// Strings that are looked up often, in one buffer, so that comparing counts no references.
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

    /// The total size of all names, in bytes.
    public var byteCount: Int { bytes.count }

    /// Adds a name, and returns its position.
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

    /// The parser's hash of a string with that content.
    public func hash(_ position: Int) -> UInt32 { entries[position].hash }
}

extension JSONDocument {
    /// Whether a string's content equals a name in the list.
    public func isEqual(
        _ node: JSONNode,
        to position: Int,
        in names: JSONNameList
    ) -> Bool {
        let entry = names.entries[position]
        guard node.hash == entry.hash, node.isString else { return false }
        return hasContent(node, of: position, in: names)
    }

    /// Whether a string's content equals a name in the list, without comparing hashes.
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

    /// The value of the first member with this name; nil: there is none.
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

/// Names to look up in objects all at once: at most 64, without duplicates.
public struct JSONNameTable: Sendable {
    /// The maximum number of names, because the result is a bit set.
    public static let maxCount = 64

    public let count: Int
    private var names: [hg_json_name] = []
    private var bytes: [UInt8] = []
    /// Positions of names, or -1 if free; at most a quarter full.
    private var slots: [Int8]

    /// Makes an empty table.
    public init() {
        self.init([])
    }

    /// Traps if there are more than `maxCount` names.
    public init(_ texts: [String]) {
        precondition(texts.count <= Self.maxCount)
        count = texts.count
        var size = 16
        while size < texts.count * 4 { size *= 2 }
        slots = Array(repeating: -1, count: size)
        for (position, text) in texts.enumerated() {
            let content = Array(text.utf8)
            let name = hg_json_name(
                hash: StringContent.hash(of: content),
                start: UInt32(bytes.count),
                byte_count: UInt32(content.count)
            )
            var slot = Int(name.hash) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int8(position)
            names.append(name)
            bytes += content
        }
    }

    /// The position of a name.
    public func position(of text: String) -> Int? {
        let content = Array(text.utf8)
        return names.firstIndex { name in
            bytes[Int(name.start)..<Int(name.start + name.byte_count)].elementsEqual(content)
        }
    }

    /// Passes the table to C for one call.
    fileprivate func withNames<R>(_ body: (hg_json_names) -> R) -> R {
        // SAFETY: the pointers are not kept after the call; every position in `slots` is in
        // `names`, and every name's range lies in `bytes`.
        unsafe names.withUnsafeBufferPointer { names in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe slots.withUnsafeBufferPointer { slots in
                    unsafe body(
                        hg_json_names(
                            names: names.baseAddress,
                            bytes: bytes.baseAddress,
                            slots: slots.baseAddress,
                            mask: UInt32(slots.count - 1)
                        )
                    )
                }
            }
        }
    }
}

extension JSONDocument {
    /// Finds which names of a table an object contains, and where.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - table: The names to find.
    ///   - places: Receives the tape indices of the values, by the names' positions.
    ///   - first: The index in `places` for the first name; there must be room for all of them.
    /// - Returns: A bit for each name found; nil if each must be looked up separately, because one
    ///   is repeated or has escapes, or because this is not an object.
    public func findMembers(
        of object: JSONNode,
        in table: JSONNameTable,
        _ places: inout MutableSpan<UInt32>,
        from first: Int
    ) -> UInt64? {
        precondition(first >= 0 && places.count - first >= table.count)
        guard object.index >= 0 else { return nil }
        var found: UInt64 = 0
        let isSimple = unsafe withView { view in
            unsafe table.withNames { names in
                unsafe places.withUnsafeMutableBufferPointer { places in
                    unsafe withUnsafePointer(to: names) { names in
                        unsafe hg_json_find_members(
                            view,
                            object.index,
                            names,
                            places.baseAddress.map { unsafe $0 + first },
                            &found
                        )
                    }
                }
            }
        }
        return isSimple ? found : nil
    }

    /// The first object in a range of tape entries that may have a repeated name.
    ///
    /// `end` if there is none.
    func nextSuspect(_ index: Int, before end: Int) -> Int {
        precondition(index >= 0 && end >= index)
        return unsafe withView { view in unsafe hg_json_next_suspect(view, index, end) }
    }

    /// Passes the document to C for one call.
    private func withView<R>(_ body: (UnsafePointer<hg_json_view>) -> R) -> R {
        // SAFETY: the pointers are not kept after the call, and the counts are the arrays' own;
        // positions on the tape are checked when they are read.
        unsafe tape.withUnsafeBufferPointer { tape in
            unsafe source.withUnsafeBufferPointer { source in
                var view = unsafe hg_json_view()
                unsafe view.tape = tape.baseAddress
                unsafe view.entry_count = entryCount
                unsafe view.source = source.baseAddress
                unsafe view.byte_count = byteCount
                return unsafe body(&view)
            }
        }
    }
}
