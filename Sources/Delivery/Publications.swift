public import Vocabulary

/// The records that a delivery can be published as.
public enum Publication: UInt8, Hashable, Sendable, CaseIterable {
    case outcome
    case tokenStatus
    case deadLetter
    /// The event itself, to be retried later; never combined with the others.
    case retry
}

/// A set of publications; not a `Set`, which would allocate for every event.
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

    /// Visits them in the order in which they are produced.
    @inline(__always)
    func forEach(_ act: (Publication) -> Void) {
        for number in 0..<UInt8(4) where rawValue & 1 << number != 0 {
            if let publication = Publication(rawValue: number) { act(publication) }
        }
    }

    /// The record besides the outcome, if any; there is never more than one.
    var auxiliary: Publication? {
        if contains(.tokenStatus) { return .tokenStatus }
        if contains(.deadLetter) { return .deadLetter }
        return contains(.retry) ? .retry : nil
    }

    public mutating func remove(_ publication: Publication) {
        self = Publications(rawValue: rawValue & ~(1 << publication.rawValue))
    }
}

/// Why Kafka rejects a record.
public enum PublicationFault: Hashable, Sendable, CaseIterable {
    /// Nothing is wrong with it; it may succeed later.
    case none
    /// The topic does not accept it: missing rights, a deleted topic, or clocks too far apart.
    case topic
    /// The batch that contained it.
    case batch
    /// The record itself; it will never be accepted.
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

    /// Reads the value written by `rawValue`; nil for any other number.
    public init?(rawValue: UInt64) {
        let number = UInt8(rawValue >> Self.slotBitCount & Self.publicationMask)
        guard let publication = Publication(rawValue: number) else { return nil }
        self.publication = publication
        delivery = DeliveryID(rawValue: rawValue & ~(Self.publicationMask << Self.slotBitCount))
    }

    /// The publication is encoded between slot and generation.
    public var rawValue: UInt64 {
        delivery.rawValue | UInt64(publication.rawValue) << Self.slotBitCount
    }

    /// A `DeliveryID` has 32 bits for the slot; `DeliveryTable` leaves the top two to the tag.
    static let slotBitCount: UInt64 = 30
    private static let publicationMask: UInt64 = 3
}
