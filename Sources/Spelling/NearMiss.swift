/// Finds the word that the user probably meant.
package enum NearMiss {
    /// Longer words are not compared: they are no typos, and the comparison takes quadratic time.
    private static let bytesMax = 64

    /// The closest of `words`, if it is close enough to be a typo.
    ///
    /// The same word in another style (`deviceToken`) matches first.
    package static func of(_ word: String, among words: [String]) -> String? {
        guard word.utf8.count <= bytesMax else { return nil }
        let words = short(words)
        let letters = letters(word)
        if let same = words.first(where: { self.letters($0) == letters }) { return same }
        let limit = max(1, min(3, word.count / 3))
        let ranked = words.map { (distance(word, $0), $0) }
        return ranked.filter { $0.0 <= limit }.min { $0 < $1 }?.1
    }

    /// The first of `words` that ends with the word or starts with it, or the other way round.
    ///
    /// A common beginning must be more than half of the longer word. Finds words such as `token`
    /// and `apns-topic`, which are no typos.
    package static func related(to word: String, among words: [String]) -> String? {
        guard word.utf8.count <= bytesMax else { return nil }
        let letters = letters(word)
        return short(words).first { isPart(letters, self.letters($0)) }
    }

    /// The words that are short enough to compare; a schema may have a name of a megabyte.
    private static func short(_ words: [String]) -> [String] {
        words.filter { $0.utf8.count <= 2 * bytesMax }
    }

    /// The word in lower case, without its separators.
    private static func letters(_ word: String) -> String {
        word.lowercased().filter { $0 != "_" && $0 != "-" && $0 != "." && $0 != " " }
    }

    private static func isPart(_ left: String, _ right: String) -> Bool {
        let (short, long) = left.count < right.count ? (left, right) : (right, left)
        return short.count >= 5
            && (long.hasSuffix(short) || long.hasPrefix(short) && short.count * 2 > long.count)
    }

    /// "; did you mean 'x'?", or else `otherwise`.
    package static func question(
        _ word: String,
        among words: [String],
        otherwise: String = ""
    ) -> String {
        of(word, among: words).map { "; did you mean '\($0)'?" } ?? otherwise
    }

    /// The edit distance: insertions, deletions, replacements and swaps (optimal string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let replacement = last[column] + (left[row] == right[column] ? 0 : 1)
                var cost = min(replacement, last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, left[row] == right[column - 1],
                    left[row - 1] == right[column]
                {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[right.count]
    }
}
