/// The records that an outcome can consist of, and the one that stands for its absence.
package enum Publication: UInt8, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus
    case deadLetter
    /// The event itself, to be tried again later; never together with the others.
    case retry
}

/// A set of them; every event has one, so it is no `Set`, which allocates.
package struct Publications: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package init(_ publication: Publication) {
        rawValue = 1 << publication.rawValue
    }

    package static let outcome = Publications(.outcome as Publication)
    package static let tokenStatus = Publications(.tokenStatus as Publication)
    package static let deadLetter = Publications(.deadLetter as Publication)
    package static let retry = Publications(.retry as Publication)

    package func contains(_ publication: Publication) -> Bool {
        rawValue & 1 << publication.rawValue != 0
    }

    package mutating func remove(_ publication: Publication) {
        self = Publications(rawValue: rawValue & ~(1 << publication.rawValue))
    }
}
