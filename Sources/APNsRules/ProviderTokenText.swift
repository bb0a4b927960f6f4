public import Vocabulary

/// The identity in a provider token: Apple's key and team identifiers.
public struct ProviderTokenIdentity: Hashable, Sendable {
    public let keyID: String
    public let teamID: String

    /// - Returns: nil unless both are 10 ASCII letters or digits.
    public init?(keyID: String, teamID: String) {
        guard Self.isIdentifier(keyID), Self.isIdentifier(teamID) else { return nil }
        self.keyID = keyID
        self.teamID = teamID
    }

    private static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 10
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
            }
    }
}

/// The text of a provider token: a JSON Web Token in compact form (RFC 7515, 7.1; RFC 7519).
///
/// The signature is passed in, because this module does not use OpenSSL: ECDSA on P-256 with
/// SHA-256, as 64 bytes r and s (RFC 7518, 3.4).
public enum ProviderTokenText {
    /// The text to sign: header and claims in base64url, separated by a full stop.
    public static func signingInput(
        identity: ProviderTokenIdentity,
        issuedAt: Timestamp
    ) -> [UInt8] {
        let header = #"{"alg":"ES256","kid":"\#(identity.keyID)"}"#
        let claims = #"{"iss":"\#(identity.teamID)","iat":\#(issuedAt.seconds)}"#
        var text: [UInt8] = []
        Base64.url.append(Array(header.utf8), to: &text)
        text.append(UInt8(ascii: "."))
        Base64.url.append(Array(claims.utf8), to: &text)
        return text
    }

    /// The complete token, as it follows `bearer `.
    public static func token(signingInput: [UInt8], signature: [UInt8]) -> [UInt8] {
        precondition(signature.count == 64, "an ES256 signature is 64 bytes, not DER")
        var text = signingInput
        text.append(UInt8(ascii: "."))
        Base64.url.append(signature, to: &text)
        return text
    }
}
