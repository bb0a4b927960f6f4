import HTTP2IO

/// Writes DER (X.690) for certificates made here; the counterpart of `DERReader`.
enum DERWriter {
    /// The value of extension 1.2.840.113635.100.6.3.6: each topic followed by its kind.
    static func topics(_ topics: [String]) -> [UInt8] {
        element(
            DERReader.sequence,
            topics.flatMap { topic in
                let kind = topic.split(separator: ".").last.map(String.init) ?? ""
                let label = kind == "voip" || kind == "complication" ? kind : "app"
                return element(DERReader.utf8String, Array(topic.utf8))
                    + element(
                        DERReader.sequence,
                        element(DERReader.utf8String, Array(label.utf8))
                    )
            }
        )
    }

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        precondition(content.count < 1 << 16, "a certificate has no such extension")
        let count = content.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)]
            : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
        return [tag] + length + content
    }
}
