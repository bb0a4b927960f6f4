import APNsRules
import HTTP2IO
import JSON
import Vocabulary

/// A provider token with a valid signature.
struct VerifiedProviderToken: Hashable, Sendable {
    /// The complete value of `authorization`.
    var authorization: [UInt8]
    var teamID: String
    var keyID: String
    /// The index of its key among the registered keys.
    var key: Int
    /// In epoch seconds.
    var issuedAt: Int64
}

/// Verifies provider tokens; a token that was verified before only costs a comparison.
struct ProviderTokenJudge {
    private struct Key {
        var registered: RegisteredKey
        var verifier: ES256Verifier
    }

    private let keys: [Key]
    /// Valid tokens, which a new connection need not verify again.
    private var verified: [[UInt8]: VerifiedProviderToken] = [:]
    private static let maxVerified = 256

    /// A change discards all verified tokens.
    var strictness: Strictness {
        didSet { verified.removeAll() }
    }

    init(_ keys: [RegisteredKey], _ strictness: Strictness) throws(VerifyingKeyError) {
        self.strictness = strictness
        var list: [Key] = []
        for key in keys {
            let verifier = try ES256Verifier(publicKeyPEM: key.publicKeyPEM)
            list.append(Key(registered: key, verifier: verifier))
        }
        self.keys = list
    }

    func key(_ index: Int) -> RegisteredKey { keys[index].registered }

    /// The token in a value of `authorization`; nil if it is invalid; its age is not checked.
    mutating func verify(_ authorization: ArraySlice<UInt8>) -> VerifiedProviderToken? {
        let bytes = Array(authorization)
        if let known = verified[bytes] { return known }
        guard let token = read(bytes) else { return nil }
        if verified.count >= Self.maxVerified { verified.removeAll(keepingCapacity: true) }
        verified[bytes] = token
        return token
    }

    private func read(_ authorization: [UInt8]) -> VerifiedProviderToken? {
        guard authorization.begins(authorization.indices, with: "bearer ") else { return nil }
        let text = authorization.dropFirst("bearer ".utf8.count)
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3,
            let header = Self.json(parts[0]), let claims = Self.json(parts[1]),
            let signature = Base64.url.decode(parts[2]), signature.count == 64,
            header["alg"]?.string == "ES256",
            let keyID = header["kid"]?.string, keyID.utf8.count == 10,
            let teamID = claims["iss"]?.string, teamID.utf8.count == 10,
            let issuedAt = issueTime(claims["iat"]),
            !strictness.refusesExtraTokenMembers || Self.hasNoExtras(header, claims),
            let index = keys.firstIndex(where: { $0.registered.keyID == keyID }),
            keys[index].registered.teamID == teamID,
            keys[index].verifier.isValid(
                signature,
                of: Array(authorization[text.startIndex..<parts[1].endIndex])
            )
        else { return nil }
        return VerifiedProviderToken(
            authorization: authorization,
            teamID: teamID,
            keyID: keyID,
            key: index,
            issuedAt: issuedAt
        )
    }

    private func issueTime(_ value: JSONValue?) -> Int64? {
        if let integer = value?.integer { return integer }
        return strictness.takesTextIssueTimes ? value?.string.flatMap { Int64($0) } : nil
    }

    private static func hasNoExtras(_ header: JSONValue, _ claims: JSONValue) -> Bool {
        let headerNames = header.object?.members.map(\.name) ?? []
        let claimNames = claims.object?.members.map(\.name) ?? []
        return headerNames.allSatisfy { ["alg", "kid"].contains($0) }
            && claimNames.allSatisfy { ["iss", "iat"].contains($0) }
    }

    private static func json(_ part: ArraySlice<UInt8>) -> JSONValue? {
        guard let bytes = Base64.url.decode(part) else { return nil }
        do throws(JSONError) {
            return try JSONValue.parse(bytes)
        } catch {
            return nil
        }
    }
}
