import JSON

// What each step of a check reads of a document's tape.
//
// JSON can tell all of this too. But the compiler inlines no body of a `package` declaration into
// another module, and a call costs several times what it does here; stored properties it reads in
// place. So these few readers are written once more on top of JSON's stored words, and inside this
// module they hide their namesakes there.

extension JSONNode {
    @inline(__always) var kind: Kind {
        switch shape >> 56 {
        case 0: .null
        case 1: .false
        case 2: .true
        case 3: .integer
        case 4: .number
        case 5: .string
        case 6: .escapedString
        case 7: .array
        default: .object
        }
    }

    @inline(__always) var isObject: Bool { shape >> 56 == 8 }
    @inline(__always) var isArray: Bool { shape >> 56 == 7 }
    @inline(__always) var isString: Bool { shape >> 56 == 5 || shape >> 56 == 6 }
    @inline(__always) var isEscaped: Bool { shape >> 56 == 6 }
    @inline(__always) var isNumber: Bool { shape >> 56 == 3 || shape >> 56 == 4 }
    /// Without fraction and exponent.
    @inline(__always) var isPlainInteger: Bool { shape >> 56 == 3 }

    /// A bit for each kind, the first one lowest.
    @inline(__always) var kindBit: UInt16 { 1 &<< UInt16(truncatingIfNeeded: shape >> 56) }

    @inline(__always) var range: Range<Int> { Int(span & 0xFFFF_FFFF)..<Int(span >> 32) }
    @inline(__always) var byteCount: Int { Int(span >> 32) - Int(span & 0xFFFF_FFFF) }
    @inline(__always) var count: Int { Int(shape >> 32 & 0xFF_FFFF) }
    @inline(__always) var hash: UInt32 { UInt32(truncatingIfNeeded: shape) }

    /// The tape index behind the value and all that is inside it.
    @inline(__always) var next: Int { isString ? index + 1 : Int(shape & 0xFFFF_FFFF) }
}

/// A place before a child of an object or array.
struct ChildCursor {
    private var next: JSONNode
    private var remaining: Int

    /// Before the first child; for scalars there is none.
    @inline(__always)
    init(_ container: JSONNode) {
        next = container
        next.index += 1
        remaining = container.isObject || container.isArray ? container.count : 0
    }

    /// The next item of an array.
    @inline(__always)
    mutating func nextItem(in document: JSONDocument) -> JSONNode? {
        guard remaining > 0 else { return nil }
        remaining &-= 1
        let item = document.node(at: next.index, as: next)
        next.index = item.next
        return item
    }

    /// The next member whose name has a hash that is wanted; of the others little is read.
    @inline(__always)
    mutating func nextMember(
        in document: JSONDocument,
        where isWanted: (_ hash: UInt32) -> Bool
    ) -> (name: JSONNode, value: JSONNode)? {
        while remaining > 0 {
            if isWanted(UInt32(truncatingIfNeeded: document.tape[2 &* next.index &+ 1])) {
                return nextMember(in: document)
            }
            remaining &-= 1
            next.shape = document.tape[2 &* next.index &+ 3]
            next.index &+= 1
            next.index = next.next
        }
        return nil
    }

    /// The next member of an object, in source order.
    @inline(__always)
    mutating func nextMember(
        in document: JSONDocument
    ) -> (name: JSONNode, value: JSONNode)? {
        guard remaining > 0 else { return nil }
        remaining &-= 1
        let name = document.node(at: next.index, as: next)
        let value = document.node(at: next.index + 1, as: next)
        next.index = value.next
        return (name, value)
    }
}

extension JSONDocument {
    /// The node of a tape entry.
    ///
    /// It is made out of another one, because an initialiser would be a call as well.
    @inline(__always)
    func node(at index: Int, as pattern: JSONNode) -> JSONNode {
        var node = pattern
        node.index = index
        node.span = tape[2 &* index]
        node.shape = tape[2 &* index &+ 1]
        return node
    }

    /// Whether a string's content is a name of a list.
    @inline(__always)
    func isEqual(
        _ node: JSONNode,
        to position: Int,
        in names: JSONNameList
    ) -> Bool {
        node.hash == names.entries[position].hash && node.isString
            && hasContent(node, of: position, in: names)
    }

    /// The value of an object's first member of that name.
    func member(
        of object: JSONNode,
        named position: Int,
        in names: JSONNameList
    ) -> JSONNode? {
        guard object.isObject else { return nil }
        var cursor = ChildCursor(object)
        let hash = names.entries[position].hash
        while let (name, value) = cursor.nextMember(in: self, where: { $0 == hash }) {
            if isEqual(name, to: position, in: names) { return value }
        }
        return nil
    }
}
