/// Finds the word that was probably meant.
public enum NearMiss {
    /// A longer word is no slip of the pen, and the comparison takes quadratic time.
    private static let bytesMax = 64

    /// The closest of `words`, if it is close enough to be a slip.
    public static func of(_ word: String, among words: [String]) -> String? {
        guard word.utf8.count <= bytesMax else { return nil }
        let limit = max(1, min(3, word.count / 3))
        let ranked = words.map { (distance(word, $0), $0) }
        return ranked.filter { $0.0 <= limit }.min { $0 < $1 }?.1
    }

    /// ", did you mean 'x'?" or nothing.
    public static func question(_ word: String, among words: [String]) -> String {
        of(word, among: words).map { ", did you mean '\($0)'?" } ?? ""
    }

    /// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
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
