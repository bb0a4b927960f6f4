public import Vocabulary

/// The records that an outcome can consist of, and the one that stands for its absence.
public enum Publication: UInt8, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus
    case deadLetter
    /// The event itself, to be tried again later; never together with the others.
    case retry
}

/// A set of them; every event has one, so it is not a `Set`, which allocates.
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

    /// In the order in which they are produced.
    @inline(__always)
    func forEach(_ act: (Publication) -> Void) {
        for number in 0..<UInt8(4) where rawValue & 1 << number != 0 {
            if let publication = Publication(rawValue: number) { act(publication) }
        }
    }

    /// The one next to the outcome, if there is one: there are never two.
    var auxiliary: Publication? {
        if contains(.tokenStatus) { return .tokenStatus }
        if contains(.deadLetter) { return .deadLetter }
        return contains(.retry) ? .retry : nil
    }

    public mutating func remove(_ publication: Publication) {
        self = Publications(rawValue: rawValue & ~(1 << publication.rawValue))
    }
}

/// Why Kafka refuses a record.
public enum PublicationFault: Hashable, Sendable, CaseIterable {
    /// Nothing about it: it can be taken another time.
    case none
    /// What its topic is given: rights are missing, the topic is gone, clocks are far apart.
    case topic
    /// The batch that it was in.
    case batch
    /// The record as it is, however often.
    case record
}

/// A delivery and one of its records, as the number that a delivery report carries back.
public struct PublicationTag: Hashable, Sendable {
    public let delivery: DeliveryID
    public let publication: Publication

    public init(_ delivery: DeliveryID, _ publication: Publication) {
        self.delivery = delivery
        self.publication = publication
    }

    /// Reads what `rawValue` wrote; nil for any other number.
    public init?(rawValue: UInt64) {
        let number = UInt8(rawValue >> Self.slotBitCount & Self.publicationMask)
        guard let publication = Publication(rawValue: number) else { return nil }
        self.publication = publication
        delivery = DeliveryID(rawValue: rawValue & ~(Self.publicationMask << Self.slotBitCount))
    }

    /// The publication stands between slot and generation.
    public var rawValue: UInt64 {
        delivery.rawValue | UInt64(publication.rawValue) << Self.slotBitCount
    }

    /// Slots have 32 bits in a `DeliveryID`; `DeliveryTable` leaves the two highest to the tag.
    static let slotBitCount: UInt64 = 30
    private static let publicationMask: UInt64 = 3
}
