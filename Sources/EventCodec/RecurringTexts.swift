import JSON

/// Texts of which a few come again and again: those are made once, and then shared.
struct RecurringTexts {
    /// The last text of each hash, of which the lowest bits count.
    private var texts = [String](repeating: "", count: 16)

    /// A string's text; nil for what is no string.
    mutating func text(of string: JSONNode, in document: JSONDocument) -> String? {
        let place = Int(string.hash) & (texts.count - 1)
        let known = texts[place]
        guard let text = document.string(string, reusing: known) else { return nil }
        if text != known { texts[place] = text }
        return text
    }
}
