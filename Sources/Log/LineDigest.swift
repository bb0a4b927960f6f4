package import Vocabulary

/// Keeps repeated faults from filling the log.
///
/// The first few lines of a kind are written; the others are counted, and summarized once per
/// window. While a kind repeats, its lines are only counted. After a quiet window the kind is
/// forgotten, and its next line is written in full again. Pure: the caller passes the time.
package struct LineDigest<Line: Sendable>: Sendable {
    /// What makes two lines the same: the fixed message, and its subjects.
    package struct Kind: Hashable, Sendable {
        package var message: String
        package var subjects: [String]

        package init(_ message: String, about subjects: [String] = []) {
            self.message = message
            self.subjects = subjects
        }
    }

    /// "`count` more of the same in the last `duration`"; `last` is the latest line.
    package struct Summary: Sendable {
        package let last: Line
        package let count: Int
        package let duration: Duration
        /// Whether the lines are of several kinds, those beyond `maxKinds`.
        package let isMixed: Bool
    }

    fileprivate struct Entry: Sendable {
        /// The order of arrival, because a dictionary has no stable order.
        var number: Int
        var windowBegan: Instant
        var told = 0
        var untold = 0
        var last: Line?
    }

    private let window: Duration
    private let burst: Int
    private let maxKinds: Int
    private var entries: [Kind: Entry] = [:]
    /// The lines of kinds beyond `maxKinds`.
    private var rest: Entry
    private var arrivals = 0
    private var nextLook: Instant?

    /// Makes an empty digest.
    ///
    /// - Parameters:
    ///   - window: How long lines are counted before a summary.
    ///   - burst: How many lines of a kind are written before the others are counted.
    ///   - maxKinds: How many kinds are distinguished; further ones are counted together.
    package init(
        window: Duration = .seconds(60),
        burst: Int = 3,
        maxKinds: Int = 256
    ) {
        self.window = window
        self.burst = burst
        self.maxKinds = maxKinds
        rest = Entry(number: .max, windowBegan: Instant(nanoseconds: 0))
    }

    /// Adds a line.
    ///
    /// - Returns: Whether to write the line; otherwise it was counted.
    package mutating func admits(_ line: Line, of kind: Kind, now: Instant) -> Bool {
        nextLook = nextLook ?? now + window
        guard var entry = entries[kind] else {
            guard entries.count < maxKinds else {
                if rest.untold == 0 { rest.windowBegan = now }
                rest.untold += 1
                rest.last = line
                return false
            }
            arrivals += 1
            entries[kind] = Entry(number: arrivals, windowBegan: now, told: 1)
            return true
        }
        defer { entries[kind] = entry }
        guard entry.told >= burst else {
            entry.told += 1
            return true
        }
        entry.untold += 1
        entry.last = line
        return false
    }

    /// Takes the summaries of the windows that are over, in the order in which the kinds arrived.
    ///
    /// Cheap if no window can be over yet.
    package mutating func takeSummaries(now: Instant) -> [Summary] {
        guard let nextLook, nextLook <= now else { return [] }
        return take(
            windowsBegunUntil: Instant(nanoseconds: now.nanoseconds - window.nanoseconds),
            now
        )
    }

    /// Takes the summaries of all counted lines regardless of the time, when the log ends.
    package mutating func takeAll(now: Instant) -> [Summary] {
        take(windowsBegunUntil: now, now)
    }

    private mutating func take(windowsBegunUntil limit: Instant, _ now: Instant) -> [Summary] {
        var over: [Entry] = []
        for kind in entries.filter({ $0.value.windowBegan <= limit }).keys {
            guard let entry = entries.removeValue(forKey: kind), entry.untold > 0 else { continue }
            over.append(entry)
            // From now on, lines of this kind are only counted, until a window passes without any.
            entries[kind] = Entry(number: entry.number, windowBegan: now, told: burst)
        }
        over.sort { $0.number < $1.number }
        if rest.untold > 0, rest.windowBegan <= limit {
            over.append(rest)
            rest.untold = 0
        }
        let begun = entries.values.map(\.windowBegan) + (rest.untold > 0 ? [rest.windowBegan] : [])
        nextLook = begun.min().map { $0 + window }
        return over.compactMap { Summary($0, now: now) }
    }
}

extension LineDigest.Summary {
    fileprivate init?(_ entry: LineDigest.Entry, now: Instant) {
        guard let last = entry.last else { return nil }
        self.last = last
        count = entry.untold
        duration = now - entry.windowBegan
        isMixed = entry.number == .max
    }
}
