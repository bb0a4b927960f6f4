package import Vocabulary

/// Where to read a partition that has no position, or whose records cannot be read.
///
/// For a position that Kafka does not have, see `LostOffset`.
package struct RestartRule: Hashable, Sendable {
    /// Whether no record may be skipped: because of `kafka.start`, or because it is a retry topic.
    package var skipsNothing: Bool
    /// The next offset to read; nil: nothing was read or committed yet.
    package var position: Offset?
    /// The last known start and end offsets of the log.
    package var known: Range<Int64>?

    package init(skipsNothing: Bool, position: Offset?, known: Range<Int64>?) {
        self.skipsNothing = skipsNothing
        self.position = position
        self.known = known
    }

    /// Where to continue if records could not be read.
    ///
    /// - Parameter next: The next offset that the client was going to fetch, as of its last
    ///   statistics.
    /// - Returns: The position from which to read them again, or the one after them.
    package func afterDamage(next: Int64?) -> StartPosition {
        if let position { return .at(position) }
        if skipsNothing { return .beginning }
        // The end as it was then: the current end may lie past the unreadable records.
        guard let next, let known, known.lowerBound <= next, next <= known.upperBound
        else { return .end }
        return .at(Offset(next))
    }

    /// Where to start if the group has no position.
    package var first: StartPosition { skipsNothing ? .beginning : .end }
}
