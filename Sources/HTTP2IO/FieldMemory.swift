import Glibc

/// Where the tables hold the fields of a connection's last blocks, by a field's place in its block:
/// most blocks have in the same place what the one before had there.
///
/// To be forgotten with every change of the dynamic table, which moves the indices.
struct FieldMemory {
    /// A field, or a name alone, that a table holds.
    private struct Entry {
        var index = 0
        /// `nameAlone`, or how much of the text is the name.
        var nameByteCount = 0
        /// Of name and value, or of the name alone; -1: nothing is known.
        var byteCount = -1
    }

    /// In place of the name's length: there is no value.
    static let nameAlone = -1

    /// What stands behind, or is longer, is looked up every time.
    private static let maxFieldCount = 16
    private static let maxByteCount = 64

    private var entries = [Entry](repeating: Entry(), count: maxFieldCount)
    private var texts = [UInt8](repeating: 0, count: maxFieldCount * maxByteCount)

    /// Looks a field, or a name, up.
    ///
    /// - Parameters:
    ///   - place: The field's place in its block.
    ///   - text: The field's name and value, or its name alone.
    ///   - nameByteCount: How much of the text is the name, or `nameAlone`.
    /// - Returns: Its index in the tables; nil if that is not known.
    @inline(__always)
    func index(at place: Int, _ text: UnsafeBufferPointer<UInt8>, nameByteCount: Int) -> Int? {
        guard place < Self.maxFieldCount, let start = text.baseAddress else { return nil }
        let entry = entries[place]
        guard entry.byteCount == text.count, entry.nameByteCount == nameByteCount else {
            return nil
        }
        let isKnown = unsafe texts.withUnsafeBytes { texts in
            guard let known = texts.baseAddress else { return false }
            // SAFETY: every place has room for `maxByteCount`, and no entry is longer.
            return unsafe memcmp(known + place * Self.maxByteCount, start, text.count) == 0
        }
        return isKnown ? entry.index : nil
    }

    mutating func remember(
        _ index: Int,
        at place: Int,
        _ text: UnsafeBufferPointer<UInt8>,
        nameByteCount: Int
    ) {
        guard place < Self.maxFieldCount, text.count <= Self.maxByteCount else { return }
        entries[place] = Entry(index: index, nameByteCount: nameByteCount, byteCount: text.count)
        let start = place * Self.maxByteCount
        // SAFETY: the text is lent for the call; the array looks after its own bounds.
        unsafe texts.replaceSubrange(start..<start + text.count, with: text)
    }

    mutating func forget() {
        for place in entries.indices { entries[place].byteCount = -1 }
    }
}
