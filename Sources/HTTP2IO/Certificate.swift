import COpenSSL
import Glibc
import Vocabulary

/// An owned X509, not modified once it is shared.
///
/// Safe to share: it is only read, which several threads may do at once (openssl-threads(7)).
@safe public final class Certificate: @unchecked Sendable {
    public let raw: OpaquePointer

    /// Takes over one reference.
    public init(owning raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    deinit {
        unsafe X509_free(raw)
    }

    /// The certificates of a file, at least one, in file order; other contents are ignored.
    static func chain(
        file: [UInt8],
        expected: String = "a certificate in PEM or PKCS#12"
    ) throws(KeyFileError) -> [Certificate] {
        let text = try PEMText(file, of: .certificate)
        let blocks = text.blocks.filter(\.isCertificate)
        guard !blocks.isEmpty else {
            throw KeyFileError(.certificate, text, file, expected: expected)
        }
        var certificates: [Certificate] = []
        for (index, block) in blocks.enumerated() {
            let read = block.damage == nil ? Self.chain(pem: block.pem) : nil
            guard let read else {
                let which =
                    blocks.count == 1
                    ? "" : "holds \(blocks.count) certificates, and number \(index + 1) "
                throw KeyFileError(.certificate, "\(which)\(block.damage ?? "is damaged")")
            }
            certificates += read
        }
        return certificates
    }

    /// The certificates of a PEM text that this program wrote.
    ///
    /// - Returns: nil if one of them is damaged.
    static func chain(pem: [UInt8]) -> [Certificate]? {
        defer { OpenSSLErrors.clear() }
        return unsafe PEM.withReader(pem) { bio -> [Certificate]? in
            var certificates: [Certificate] = []
            while let raw = unsafe PEM_read_bio_X509(bio, nil, refusePassphrase, nil) {
                certificates.append(unsafe Certificate(owning: raw))
            }
            // Only the reason distinguishes the end of the text from an unreadable block.
            let code = ERR_peek_last_error()
            guard ERR_GET_LIB(code) == ERR_LIB_PEM,
                ERR_GET_REASON(code) == PEM_R_NO_START_LINE
            else { return nil }
            return certificates
        }
    }

    public var pem: [UInt8] {
        unsafe PEM.written { unsafe PEM_write_bio_X509($0, raw) }
    }

    var notBefore: Timestamp { unsafe Self.timestamp(X509_get0_notBefore(raw)) }
    var notAfter: Timestamp { unsafe Self.timestamp(X509_get0_notAfter(raw)) }

    /// The UID of the Subject (RFC 4519, 2.39), in which Apple writes the bundle ID.
    var userID: String? {
        let name = unsafe X509_get_subject_name(raw)
        let length = unsafe X509_NAME_get_text_by_NID(name, NID_userId, nil, 0)
        guard length > 0 else { return nil }
        var text = [CChar](repeating: 0, count: Int(length) + 1)
        // SAFETY: writes at most the length passed, including the NUL.
        guard unsafe X509_NAME_get_text_by_NID(name, NID_userId, &text, length + 1) == length
        else { return nil }
        return String(decoding: text[..<Int(length)].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The value of an extension, given by its dotted object identifier; nil: it has none.
    func extensionValue(_ identifier: String) -> [UInt8]? {
        guard let object = unsafe OBJ_txt2obj(identifier, 1) else { return nil }
        defer { unsafe ASN1_OBJECT_free(object) }
        let position = unsafe X509_get_ext_by_OBJ(raw, object, -1)
        guard position >= 0, let found = unsafe X509_get_ext(raw, position),
            let data = unsafe X509_EXTENSION_get_data(found)
        else { return nil }
        // SAFETY: the string's bytes are valid as long as the certificate lives.
        let bytes = unsafe UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(data),
            count: Int(ASN1_STRING_length(data))
        )
        return unsafe Array(bytes)
    }

    private static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp {
        var parts = unsafe tm()
        guard unsafe ASN1_TIME_to_tm(time, &parts) == 1 else { return Timestamp(milliseconds: 0) }
        return unsafe Timestamp(milliseconds: Int64(timegm(&parts)) * 1000)
    }
}
