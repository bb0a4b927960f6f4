import JSON

/// Names, found by the hash that the parser computes anyway.
struct NameTable: Sendable {
    private var names = JSONNameList()
    /// Positions in `names`, -1 where free; linear probing, at most a quarter full.
    private let slots: [Int32]

    init(_ texts: [String]) {
        for text in texts { _ = names.append(text) }
        var size = 4
        while size < texts.count * 4 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for index in texts.indices {
            var slot = Int(names.hash(index)) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(index)
        }
        self.slots = slots
    }

    /// The position of a member's name.
    func position(of name: JSONNode, in document: JSONDocument) -> Int? {
        var slot = Int(name.hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let position = Int(slots[slot])
            if document.isEqual(name, to: position, in: names) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}
