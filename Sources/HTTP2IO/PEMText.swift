import Vocabulary

/// The PEM blocks of a text (RFC 7468), even if its formatting was damaged on the way.
///
/// Accepts line ends of any kind, written-out `\n`, or spaces instead; indentation; quotes around
/// the whole text; a byte order mark; and any text between the blocks.
struct PEMText {
    struct Block {
        /// The label, such as `PRIVATE KEY`.
        var label: String
        /// The headers of RFC 1421, which describe how an older key is encrypted.
        var headers: [(name: String, value: String)]
        /// The Base64 text, without white space.
        var base64: [UInt8]
    }

    /// Why a text with PEM markers cannot be read; completes "the file ...".
    struct Problem: Error {
        let text: String
    }

    let blocks: [Block]

    /// Finds the blocks; there are none if the text has no line `-----BEGIN ...-----`.
    init(_ bytes: [UInt8]) throws(Problem) {
        // Line ends may be written out by an environment variable or JSON; Base64 contains no
        // backslash.
        var rest = String(decoding: bytes, as: UTF8.self)
            .replacing("\\r", with: " ").replacing("\\n", with: "\n")[...]
        var blocks: [Block] = []
        while let begin = Self.mark("BEGIN", in: rest) {
            let body = rest[begin.range.upperBound...]
            guard let end = Self.mark("END", in: body) else {
                throw Problem(text: "is cut short: '-----END \(begin.label)-----' is missing")
            }
            if let next = Self.mark("BEGIN", in: body[..<end.range.lowerBound]) {
                let found = "'-----BEGIN \(next.label)-----' comes before '-----END"
                throw Problem(text: "is damaged: \(found) \(begin.label)-----'")
            }
            guard end.label == begin.label else {
                let found =
                    "'-----BEGIN \(begin.label)-----' ends with '-----END \(end.label)-----'"
                throw Problem(text: "is damaged: \(found)")
            }
            blocks.append(try Self.block(begin.label, body[..<end.range.lowerBound]))
            rest = rest[end.range.upperBound...]
        }
        if blocks.isEmpty, let end = Self.mark("END", in: rest) {
            throw Problem(text: "is cut short: '-----BEGIN \(end.label)-----' is missing")
        }
        self.blocks = blocks
    }

    /// Finds a line such as `-----BEGIN PRIVATE KEY-----`; labels are short and in capitals.
    private static func mark(
        _ word: String,
        in text: Substring
    ) -> (label: String, range: Range<Substring.Index>)? {
        guard let start = text.firstRange(of: "-----\(word) ") else { return nil }
        let label = text[start.upperBound...].prefix { $0.isASCII && $0 != "-" && !$0.isNewline }
        guard label.count <= 40, text[label.endIndex...].hasPrefix("-----") else { return nil }
        let end = text.index(label.endIndex, offsetBy: 5)
        return (String(label), start.lowerBound..<end)
    }

    private static func block(_ label: String, _ body: Substring) throws(Problem) -> Block {
        var block = Block(label: label, headers: [], base64: [])
        var words = body.split { $0.isWhitespace || $0 == "\u{FEFF}" }[...]
        while let word = words.popFirst() {
            if word.hasSuffix(":"), let value = words.popFirst() {
                block.headers.append((String(word.dropLast()), String(value)))
            } else {
                block.base64 += word.utf8
            }
        }
        // OpenPGP armor (RFC 9580) has a checksum after its Base64.
        guard !label.hasPrefix("PGP ") else { return block }
        guard block.base64.allSatisfy({ Base64.standard.isDigit($0) || $0 == UInt8(ascii: "=") })
        else {
            throw Problem(text: "is damaged: '\(label)' has a character that is not Base64")
        }
        return block
    }
}

extension PEMText.Block {
    private static let privateKeys: Set = [
        "PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY",
        "DSA PRIVATE KEY",
    ]

    var isPrivateKey: Bool { Self.privateKeys.contains(label) }
    var isCertificate: Bool { label == "CERTIFICATE" || label == "X509 CERTIFICATE" }

    /// Whether opening it requires a passphrase (RFC 5958; RFC 1421, 4.6.1.1).
    var isEncrypted: Bool {
        label == "ENCRYPTED PRIVATE KEY"
            || headers.contains { $0.name == "Proc-Type" && $0.value.contains("ENCRYPTED") }
    }

    /// The cipher of an older key, such as `DES-EDE3-CBC` (RFC 1421, 4.6.1.3).
    var cipher: String? {
        headers.first { $0.name == "DEK-Info" }?.value.split(separator: ",").first.map(String.init)
    }

    /// The block in standard PEM formatting.
    var pem: [UInt8] {
        var text = "-----BEGIN \(label)-----\n"
        for (name, value) in headers { text += "\(name): \(value)\n" }
        if !headers.isEmpty { text += "\n" }
        for start in stride(from: 0, to: base64.count, by: 64) {
            let line = base64[start..<min(start + 64, base64.count)]
            text += "\(String(decoding: line, as: UTF8.self))\n"
        }
        return Array("\(text)-----END \(label)-----\n".utf8)
    }

    /// What is wrong with its DER, judged by its length; nil: nothing.
    var damage: String? {
        guard let bytes = Base64.standard.decode(base64) else {
            return "is damaged: its Base64 is incomplete"
        }
        // An older key's contents are encrypted as a whole.
        guard headers.isEmpty else { return nil }
        guard let length = DERShape.announcedLength(of: bytes) else {
            return "is damaged: it is not DER"
        }
        if length > bytes.count {
            return "is cut short: \(bytes.count) of \(length) bytes are there"
        }
        return length < bytes.count ? "is damaged: bytes follow its end" : nil
    }
}
