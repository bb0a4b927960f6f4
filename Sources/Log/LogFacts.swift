package import Telemetry

/// The keys and values of a log line; the keys are a closed list.
///
/// A line has at most a dozen, so they are an array with linear search, without hashing.
package struct LogFacts: Sendable {
    /// Each key at most once, in no particular order.
    private var pairs: [(key: LogKey, text: String)] = []

    /// nil if there is no such fact; setting nil removes it.
    package subscript(key: LogKey) -> String? {
        get { pairs.first { $0.key == key }?.text }
        set {
            let index = pairs.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let text?): pairs[index].text = text
            case (let index?, nil): pairs.remove(at: index)
            case (nil, let text?): pairs.append((key, text))
            case (nil, nil): break
            }
        }
    }

    /// Returns these facts plus `others`; for keys in both, these win.
    func completed(by others: LogFacts) -> LogFacts {
        guard !pairs.isEmpty else { return others }
        guard !others.pairs.isEmpty else { return self }
        var all = self
        for other in others.pairs where self[other.key] == nil { all.pairs.append(other) }
        return all
    }

    /// Sorted by key, the order in which a line shows them.
    var sortedByName: [(name: String, text: String)] {
        pairs.map { (name: $0.key.rawValue, text: $0.text) }.sorted { $0.name < $1.name }
    }
}

extension LogFacts: ExpressibleByDictionaryLiteral {
    /// Makes facts from a literal; a nil value omits its key, as in `[.reason:
    /// outcome.reason?.text]`.
    ///
    /// - Precondition: Each key is given once, as in a dictionary literal.
    package init(dictionaryLiteral elements: (LogKey, String?)...) {
        pairs.reserveCapacity(elements.count)
        for (index, (key, text)) in elements.enumerated() {
            precondition(
                !elements[..<index].contains { $0.0 == key },
                "the log key '\(key.rawValue)' is given twice"
            )
            if let text { pairs.append((key, text)) }
        }
    }
}
