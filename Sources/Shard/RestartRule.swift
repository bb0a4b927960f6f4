package import Vocabulary

/// Where reading starts in a partition without a position, or continues if records cannot be read;
/// for a position that Kafka does not have, see `LostOffset`.
package struct RestartRule: Hashable, Sendable {
    /// Nothing may be skipped: because of `kafka.start`, or because it is a retry topic.
    package var skipsNothing: Bool
    /// The reading position; nil: nothing was read or committed yet.
    package var position: Offset?
    /// Kafka's oldest offset and the next one to be written, as last heard of.
    package var known: Range<Int64>?

    package init(skipsNothing: Bool, position: Offset?, known: Range<Int64>?) {
        self.skipsNothing = skipsNothing
        self.position = position
        self.known = known
    }

    /// If there are records that could not be read.
    ///
    /// - Parameter next: The record that the client was to fetch next, when it last said so.
    /// - Returns: The place from which they are read again, or the one behind them.
    package func afterDamage(next: Int64?) -> StartPosition {
        if let position { return .at(position) }
        if skipsNothing { return .beginning }
        // The end as it was: that of now may be behind the records that could not be read.
        guard let next, let known, known.lowerBound <= next, next <= known.upperBound
        else { return .end }
        return .at(Offset(next))
    }

    /// If the group has no position.
    package var first: StartPosition { skipsNothing ? .beginning : .end }
}
