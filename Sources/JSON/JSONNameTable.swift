import CSimdjson

/// Names that are looked for in objects all at once, at most 64 of them, none twice.
public struct JSONNameTable: Sendable {
    /// The most names that a table takes: those of an object are a set of bits.
    public static let maxCount = 64

    public let count: Int
    private var names: [hg_json_name] = []
    private var bytes: [UInt8] = []
    /// Positions of names, -1 where free; at most a quarter full.
    private var slots: [Int8]

    /// No name.
    public init() {
        self.init([])
    }

    /// It traps beyond `maxCount` names.
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

    /// Lends the table to C for one call.
    fileprivate func withNames<R>(_ body: (hg_json_names) -> R) -> R {
        // SAFETY: the pointers do not leave the call; every position in `slots` is one of `names`,
        // and every name's range lies in `bytes`.
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
    /// Which names of a table an object has, and where.
    ///
    /// - Parameters:
    ///   - object: The object.
    ///   - table: The names.
    ///   - places: Gets the tape indexes of the values, by the names' positions.
    ///   - first: Where those of the first name go in `places`, which has room for all behind it.
    /// - Returns: A bit for each name that is there; nil where they have to be looked for one by
    ///   one: one stands twice or has escapes, or this is no object.
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

    /// Lends the document to C for one call.
    private func withView<R>(_ body: (UnsafePointer<hg_json_view>) -> R) -> R {
        // SAFETY: the pointers do not leave the call, and the counts are those of the arrays; what
        // the tape says of the source is checked where it is read.
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
