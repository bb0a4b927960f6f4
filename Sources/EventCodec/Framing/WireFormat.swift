import Vocabulary

/// Confluent's wire format ("Formats, Serializers, and Deserializers", section "Wire format").
///
/// A version byte and the schema's identifier, before the value or in a header of their own:
/// version 0 with a 4-byte number in network order, version 1 with a 16-byte GUID.
enum WireFormat {
    /// Where serializers put the identifier that do not write it before the value.
    static let headerName = "__value_schema_id"

    static func isVersion(_ byte: UInt8) -> Bool { identifierByteCount(version: byte) != nil }

    /// The identifier before a value, and how many bytes it takes.
    static func reference(
        before value: ArraySlice<UInt8>
    ) throws(FramingError) -> (SchemaReference, byteCount: Int) {
        guard let version = value.first, let count = identifierByteCount(version: version),
            value.count > count
        else {
            throw FramingError(
                .confluent,
                rule,
                "the schema identifier before the value is cut short"
            )
        }
        guard value.count > count + 1 else {
            throw FramingError(.confluent, rule, "there is no data behind the schema identifier")
        }
        return (reference(version: version, value[1...count]), count + 1)
    }

    /// The identifier in a header's value.
    static func reference(inHeader value: [UInt8]) throws(FramingError) -> SchemaReference {
        guard let version = value.first, value.count - 1 == identifierByteCount(version: version)
        else {
            throw FramingError(
                .confluent,
                rule,
                """
                the header \(headerName) is neither byte 0 with a 4-byte identifier nor byte 1 \
                with a 16-byte GUID
                """
            )
        }
        return reference(version: version, value[1...])
    }

    private static let rule = "wire-format"

    private static func identifierByteCount(version: UInt8) -> Int? {
        switch version {
        case 0: 4
        case 1: 16
        default: nil
        }
    }

    private static func reference(version: UInt8, _ bytes: ArraySlice<UInt8>) -> SchemaReference {
        if version == 0 { return .id(bytes.reduce(0) { $0 << 8 | UInt32($1) }) }
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return .guid(text)
    }
}
