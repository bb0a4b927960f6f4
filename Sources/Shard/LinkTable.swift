import Vocabulary

/// The links of a shard by their connections' numbers.
///
/// Every request asks for one, and there are few: a look-up by halves costs less than a hash.
struct LinkTable {
    /// Ascending; `links` is in the same order.
    private var ids: [ConnectionID] = []
    private var links: [APNsLink] = []

    /// In the order of their numbers.
    var all: [APNsLink] { links }

    /// Inlined, because every request asks.
    subscript(id: ConnectionID) -> APNsLink? {
        @inline(__always) get {
            let position = position(of: id)
            return position < ids.count && ids[position].rawValue == id.rawValue
                ? links[position] : nil
        }
    }

    /// Adds a link whose number is new; numbers count up, so its place is mostly the last.
    mutating func insert(_ link: APNsLink) {
        let position = position(of: link.id)
        ids.insert(link.id, at: position)
        links.insert(link, at: position)
    }

    /// - Returns: The link, if there was one.
    mutating func remove(_ id: ConnectionID) -> APNsLink? {
        let position = position(of: id)
        guard position < ids.count, ids[position] == id else { return nil }
        ids.remove(at: position)
        return links.remove(at: position)
    }

    mutating func removeAll() {
        ids.removeAll()
        links.removeAll()
    }

    /// The first place whose number is not below `id`.
    private func position(of id: ConnectionID) -> Int {
        var start = 0
        var end = ids.count
        while start < end {
            let middle = (start + end) / 2
            if ids[middle].rawValue < id.rawValue { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
