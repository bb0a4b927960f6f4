import Vocabulary

/// Guesses what a file is that contains no usable PEM block.
enum KeyFileGuess {
    /// A noun for the file, and advice on what to do with it.
    static func of(_ bytes: [UInt8]) -> (noun: String, advice: String) {
        if isUTF16(bytes) { return ("text in UTF-16", "; save it as UTF-8") }
        if let shape = DERShape(bytes) { return (shape.noun, shape.advice) }
        // No text contains such bytes.
        if bytes.contains(where: { $0 < 9 }), let length = DERShape.announcedLength(of: bytes),
            length > bytes.count
        {
            return ("DER cut short (\(bytes.count) of \(length) bytes)", "")
        }
        for (magic, noun) in magics where bytes.starts(with: magic) { return (noun, "") }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.split { $0.isWhitespace || $0 == "\u{FEFF}" || $0 == "\"" }
        guard let first = words.first else { return ("empty", "") }
        if first.hasPrefix("<") { return ("a web page or XML", "") }
        if first.hasPrefix("{") || first.hasPrefix("[") { return ("JSON", "") }
        if first.hasPrefix("ssh-") || first.hasPrefix("ecdsa-sha2-") {
            return ("an SSH public key", "")
        }
        if first.hasPrefix("PuTTY-User-Key-File") { return ("a PuTTY key", "") }
        if text.contains("BEGIN ") {
            let rule = "its lines 'BEGIN' and 'END' need five hyphens on each side"
            return ("not PEM (\(rule))", "")
        }
        return base64(words.joined()) ?? ("not PEM", "")
    }

    private static let magics: [([UInt8], String)] = [
        (Array("PK\u{3}\u{4}".utf8), "a ZIP archive"), ([0x1F, 0x8B], "compressed with gzip"),
        (Array("%PDF-".utf8), "a PDF document"),
    ]

    /// With a byte order mark; for ASCII text, also without.
    private static func isUTF16(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF])
            || bytes.count >= 4 && (bytes[0] == 0) != (bytes[1] == 0)
                && (bytes[0] == 0) == (bytes[2] == 0) && (bytes[1] == 0) == (bytes[3] == 0)
    }

    private static func base64(_ text: String) -> (noun: String, advice: String)? {
        guard text.utf8.count >= 32, let bytes = Base64.standard.decode(text.utf8) else {
            return nil
        }
        if String(decoding: bytes, as: UTF8.self).contains("-----BEGIN ") {
            return ("Base64 of a PEM file", "; decode it again")
        }
        return switch DERShape(bytes) {
        case .pkcs12: ("Base64 of a PKCS#12 file", "; decode it")
        case nil: nil
        default: ("Base64 without the lines '-----BEGIN ...-----' and '-----END ...-----'", "")
        }
    }
}

/// The kind of a DER encoding, judged by the types of its outer elements.
enum DERShape {
    /// RFC 5958, or the older forms of RFC 5915 and RFC 8017.
    case privateKey
    /// RFC 5958, 3.
    case encryptedPrivateKey
    /// RFC 5280, 4.1.2.7.
    case publicKey
    case certificate
    /// RFC 2986.
    case certificateRequest
    /// RFC 7292.
    case pkcs12
    /// RFC 5652.
    case cms
    case other

    /// Nil if the bytes are not DER, or incomplete.
    init?(_ bytes: [UInt8]) {
        var outer = bytes[...]
        guard let (tag, content) = DERReader.element(&outer), tag == DERReader.sequence,
            outer.isEmpty
        else { return nil }
        var rest = content
        var elements: [(tag: UInt8, content: ArraySlice<UInt8>)] = []
        while elements.count < 3, let element = DERReader.element(&rest) {
            elements.append(element)
        }
        let sequence = DERReader.sequence
        let (integer, bits, octets, object): (UInt8, UInt8, UInt8, UInt8) = (2, 3, 4, 6)
        let tags = elements.map(\.tag)
        let first = elements.first?.content.first
        if tags == [integer, sequence, octets] || tags == [integer, integer, integer]
            || tags.starts(with: [integer, octets])
        {
            self = .privateKey
        } else if tags.starts(with: [integer, sequence]), first == 3 {
            self = .pkcs12
        } else if tags == [sequence, octets] {
            self = .encryptedPrivateKey
        } else if tags == [sequence, bits] {
            self = .publicKey
        } else if tags == [sequence, sequence, bits] {
            // A request starts with its version, 0; a certificate with [0] or its serial number.
            let isRequest = elements[0].content.starts(with: [integer, 1, 0, sequence])
            self = isRequest ? .certificateRequest : .certificate
        } else {
            self = tags.first == object ? .cms : .other
        }
    }

    /// The length in bytes that a SEQUENCE declares, including its header; nil if it is not one.
    static func announcedLength(of bytes: [UInt8]) -> Int? {
        guard bytes.count >= 2, bytes[0] == DERReader.sequence else { return nil }
        let octets = Int(bytes[1] & 0x7F)
        guard bytes[1] & 0x80 != 0 else { return 2 + octets }
        guard (1...4).contains(octets), bytes.count >= 2 + octets else { return nil }
        return bytes[2..<2 + octets].reduce(0) { $0 << 8 | Int($1) } + 2 + octets
    }

    fileprivate var noun: String {
        switch self {
        case .privateKey: "a private key in DER"
        case .encryptedPrivateKey: "an encrypted private key in DER"
        case .publicKey: "a public key in DER"
        case .certificate: "a certificate in DER"
        case .certificateRequest: "a certificate request in DER"
        case .pkcs12: "a PKCS#12 file"
        case .cms: "a CMS or PKCS#7 file"
        case .other: "DER of another kind"
        }
    }

    fileprivate var advice: String {
        switch self {
        case .privateKey, .encryptedPrivateKey: "; convert it with 'openssl pkey -inform DER'"
        case .certificate: "; convert it with 'openssl x509 -inform DER'"
        default: ""
        }
    }
}
