import APNsRules
import APNsSimulator
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// A signing key that the judge knows, and valid requests.
struct Fixture {
    static let now = Timestamp(milliseconds: 1_700_000_000_000)
    static let token = "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"

    let pem = EphemeralAuthority.signingKeyPEM()
    var keyID = "ABC123DEFG"
    var teamID = "DEF123GHIJ"
    var environments: Set<APNsEnvironment> = [.production, .sandbox]
    var bundleIDs: Set<String>?

    func registered() throws -> RegisteredKey {
        RegisteredKey(
            keyID: keyID,
            teamID: teamID,
            publicKeyPEM: try ES256Signer(pem: pem).publicKeyPEM,
            environments: environments,
            bundleIDs: bundleIDs
        )
    }

    /// `bearer` and a provider token.
    func authorization(age: Int64 = 0) throws -> String {
        let identity = try #require(ProviderTokenIdentity(keyID: keyID, teamID: teamID))
        let input = ProviderTokenText.signingInput(
            identity: identity,
            issuedAt: Timestamp(milliseconds: Self.now.milliseconds - age * 1000)
        )
        return try Self.sign(input, with: pem)
    }

    static func sign(_ input: [UInt8], with pem: [UInt8]) throws -> String {
        let signature = try ES256Signer(pem: pem).sign(input)
        let token = ProviderTokenText.token(signingInput: input, signature: signature)
        return "bearer " + String(decoding: token, as: UTF8.self)
    }

    static func headers(
        _ authorization: String?,
        changing changes: [(String, String?)] = []
    ) -> [(String, String)] {
        var fields: [(String, String)] = [
            (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
            (":path", "/3/device/" + token), ("apns-topic", "com.example.app"),
            ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-id", "123e4567-e89b-12d3-a456-4266554400a0"),
        ]
        if let authorization { fields.append(("authorization", authorization)) }
        for (name, value) in changes {
            let place = fields.firstIndex { $0.0 == name }
            if let place { fields.remove(at: place) }
            if let value { fields.insert((name, value), at: place ?? fields.endIndex) }
        }
        return fields
    }

    static func block(_ fields: [(String, String)]) -> HeaderBlock {
        var block = HeaderBlock()
        for (name, value) in fields { block.append(name, value) }
        return block
    }
}

extension RequestJudge {
    /// Judges header fields given as text.
    mutating func judge(
        _ fields: [(String, String)],
        bodyByteCount: Int = 2,
        connection: inout ConnectionFacts,
        now: Timestamp = Fixture.now
    ) -> Judgment {
        let block = Fixture.block(fields)
        return judge(
            RequestHead(block),
            of: block,
            body: [UInt8](repeating: UInt8(ascii: " "), count: bodyByteCount),
            connection: &connection,
            now: now
        )
    }
}
