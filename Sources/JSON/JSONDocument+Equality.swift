extension JSONDocument {
    /// Whether two values are equal as defined by JSON Schema (Core, 4.2.2).
    ///
    /// Numbers are compared by value, and the order of members does not matter. Objects must not
    /// have repeated names.
    public func isEqual(_ left: JSONNode, _ right: JSONNode) -> Bool {
        switch left.kind {
        case .null, .true, .false: return left.kind == right.kind
        case .integer, .number:
            guard right.isNumber else { return false }
            return isEqualNumber(left, right)
        case .string, .escapedString: return isEqualString(left, right)
        case .array:
            guard right.kind == .array, left.count == right.count else { return false }
            var leftItems = children(of: left)
            var rightItems = children(of: right)
            while let item = nextItem(&leftItems), let other = nextItem(&rightItems) {
                guard isEqual(item, other) else { return false }
            }
            return true
        case .object:
            guard right.kind == .object, left.count == right.count else { return false }
            return hasEqualMembers(left, right)
        }
    }

    private func isEqualNumber(_ left: JSONNode, _ right: JSONNode) -> Bool {
        if left.kind == .integer, right.kind == .integer,
            let value = integer(left), let other = integer(right)
        {
            return value == other
        }
        // Equal numbers round to the same value.
        guard double(left) == double(right) else { return false }
        return JSONNumber(text: source[left.range]) == JSONNumber(text: source[right.range])
    }

    private func isEqualString(_ left: JSONNode, _ right: JSONNode) -> Bool {
        guard right.isString, left.hash == right.hash else { return false }
        return content(of: left) == content(of: right)
    }

    /// Members usually have the same order; otherwise both sides are sorted.
    ///
    /// A large object therefore does not take quadratic time.
    ///
    /// All names are compared before any value: comparing values first in one order and then in
    /// another would double the work with each level.
    private func hasEqualMembers(_ left: JSONNode, _ right: JSONNode) -> Bool {
        guard membersMatch(left, right, { isEqualString($0.name, $1.name) }) else {
            return hasEqualSortedMembers(left, right)
        }
        return membersMatch(left, right) { isEqual($0.value, $1.value) }
    }

    /// Whether each member matches the one at the same position.
    private func membersMatch(
        _ left: JSONNode,
        _ right: JSONNode,
        _ isMatch: (
            _ member: (name: JSONNode, value: JSONNode),
            _ other: (name: JSONNode, value: JSONNode)
        ) -> Bool
    ) -> Bool {
        var leftMembers = children(of: left)
        var rightMembers = children(of: right)
        while let member = nextMember(&leftMembers), let other = nextMember(&rightMembers) {
            guard isMatch(member, other) else { return false }
        }
        return true
    }

    private func hasEqualSortedMembers(_ left: JSONNode, _ right: JSONNode) -> Bool {
        let members = sortedMembers(of: left)
        let others = sortedMembers(of: right)
        for (index, member) in members.enumerated() {
            guard member.name == others[index].name else { return false }
            guard isEqual(member.value, others[index].value) else { return false }
        }
        return true
    }

    private func sortedMembers(
        of object: JSONNode
    ) -> [(name: ArraySlice<UInt8>, value: JSONNode)] {
        var members: [(name: ArraySlice<UInt8>, value: JSONNode)] = []
        var cursor = children(of: object)
        while let (name, value) = nextMember(&cursor) { members.append((content(of: name), value)) }
        members.sort { $0.name.lexicographicallyPrecedes($1.name) }
        return members
    }

    /// The second value of a name that occurs twice in an object, at any depth; nil: none does.
    ///
    /// Names are equal if their unescaped contents are. The time is linear in the text, whatever
    /// hashes a producer provokes.
    public func repeatedMember(in value: JSONNode) -> JSONNode? {
        var index = nextSuspect(value.index, before: value.next)
        while index < value.next {
            if let repeated = repeatedMember(of: node(at: index)) { return repeated }
            index = nextSuspect(index &+ 1, before: value.next)
        }
        return nil
    }

    private func repeatedMember(of object: JSONNode) -> JSONNode? {
        guard object.count <= 16 else { return repeatedMember(ofLarge: object) }
        var members = children(of: object)
        while let (name, _) = nextMember(&members) {
            var others = members
            while let (other, value) = nextMember(&others) {
                if isEqualString(name, other) { return value }
            }
        }
        return nil
    }

    private func repeatedMember(ofLarge object: JSONNode) -> JSONNode? {
        var names: Set<ExactText> = []
        var members = children(of: object)
        while let (name, value) = nextMember(&members) {
            guard names.insert(ExactText(string(name) ?? "")).inserted else { return value }
        }
        return nil
    }

    /// Whether all items of an array are different.
    ///
    /// Long arrays are compared by hash with a per-process seed, so that no producer can provoke
    /// quadratic time. Only objects with repeated names can have equal hashes and still differ;
    /// with more than a few such collisions, the result is false.
    public func hasUniqueItems(_ array: JSONNode) -> Bool {
        guard array.count > 16 else { return hasUniqueFewItems(array) }
        var items: [(hash: Int, node: JSONNode)] = []
        items.reserveCapacity(array.count)
        var cursor = children(of: array)
        while let item = nextItem(&cursor) { items.append((hashValue(of: item), item)) }
        items.sort { $0.hash < $1.hash }
        for index in 1..<items.count where items[index].hash == items[index - 1].hash {
            var earlier = index - 1
            while earlier >= 0, items[earlier].hash == items[index].hash {
                guard index - earlier <= Self.mostAmbiguousItems,
                    !isEqual(items[earlier].node, items[index].node)
                else { return false }
                earlier -= 1
            }
        }
        return true
    }

    private static let mostAmbiguousItems = 8

    private func hasUniqueFewItems(_ array: JSONNode) -> Bool {
        var items = children(of: array)
        while let item = nextItem(&items) {
            var others = items
            while let other = nextItem(&others) {
                if isEqual(item, other) { return false }
            }
        }
        return true
    }

    /// Equal values have equal hashes.
    private func hashValue(of node: JSONNode) -> Int {
        var hasher = Hasher()
        switch node.kind {
        case .null, .true, .false: hasher.combine(node.kind)
        case .integer, .number: hasher.combine(number(node))
        case .string, .escapedString: content(of: node).forEach { hasher.combine($0) }
        case .array:
            var cursor = children(of: node)
            while let item = nextItem(&cursor) { hasher.combine(hashValue(of: item)) }
        case .object:
            // A sum, because the order of members does not matter.
            var sum = node.count
            var cursor = children(of: node)
            while let (name, value) = nextMember(&cursor) {
                var member = Hasher()
                content(of: name).forEach { member.combine($0) }
                member.combine(hashValue(of: value))
                sum &+= member.finalize()
            }
            hasher.combine(sum)
        }
        return hasher.finalize()
    }
}
