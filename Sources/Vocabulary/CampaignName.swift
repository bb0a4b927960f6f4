/// The name of the campaign that an event belongs to, chosen by its producer.
///
/// One reference in size, because each event and each outcome has room for one. Events that share
/// the value share its bytes.
public struct CampaignName: Hashable, Sendable {
    /// The name in UTF-8.
    public let utf8: [UInt8]

    /// In characters, as JSON Schema counts them: Unicode scalars.
    public static let maxCharacterCount = 128

    /// - Returns: nil unless `text` is 1 to 128 characters, none of them a control character.
    public init?(_ text: String) {
        guard Self.isName(text.unicodeScalars) else { return nil }
        utf8 = Array(text.utf8)
    }

    /// Reads the key of a record.
    ///
    /// - Returns: nil also if the bytes are not UTF-8.
    public init?(utf8: [UInt8]) {
        guard let text = String(validating: utf8, as: UTF8.self) else { return nil }
        self.init(text)
    }

    /// Takes bytes already known to be the UTF-8 of a name.
    public init(checked utf8: Span<UInt8>) {
        self.utf8 = unsafe utf8.withUnsafeBufferPointer { unsafe Array($0) }
    }

    /// Whether the name has these bytes.
    public func isEqual(_ utf8: Span<UInt8>) -> Bool {
        unsafe utf8.withUnsafeBufferPointer { unsafe self.utf8.elementsEqual($0) }
    }

    private static func isName(_ scalars: String.UnicodeScalarView) -> Bool {
        !scalars.isEmpty && scalars.count <= maxCharacterCount
            && scalars.allSatisfy { $0.properties.generalCategory != .control }
    }
}

extension CampaignName: CustomStringConvertible {
    /// The text, allocated on each call.
    public var description: String { String(decoding: utf8, as: UTF8.self) }
}

/// By bytes, which is the order of code points.
extension CampaignName: Comparable {
    public static func < (left: CampaignName, right: CampaignName) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
