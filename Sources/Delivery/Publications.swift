/// The records that an outcome can consist of, and the one that stands for its absence.
public enum Publication: UInt8, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus
    case deadLetter
    /// The event itself, to be tried again later; never together with the others.
    case retry
}

/// A set of them; every event has one, so it is no `Set`, which allocates.
public struct Publications: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public init(_ publication: Publication) {
        rawValue = 1 << publication.rawValue
    }

    public static let outcome = Publications(.outcome as Publication)
    public static let tokenStatus = Publications(.tokenStatus as Publication)
    public static let deadLetter = Publications(.deadLetter as Publication)
    public static let retry = Publications(.retry as Publication)

    public func contains(_ publication: Publication) -> Bool {
        rawValue & 1 << publication.rawValue != 0
    }

    public mutating func remove(_ publication: Publication) {
        self = Publications(rawValue: rawValue & ~(1 << publication.rawValue))
    }
}
