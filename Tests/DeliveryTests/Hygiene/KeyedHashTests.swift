import Delivery
import Testing
import Vocabulary

@Suite struct KeyedHashTests {
    private static let key = HashKey(low: 1, high: 2)

    private static func token(_ text: String) throws -> DeviceToken {
        try #require(DeviceToken(text))
    }

    @Test func `a token has another hash for every topic, environment and key`() throws {
        let token = try Self.token("00ff")
        let news = APNsTopic("com.example.News")
        let first = Self.key.hash(of: token, topic: news, environment: .production)
        let others = try [
            Self.key.hash(of: token, topic: news, environment: .sandbox),
            Self.key.hash(
                of: token,
                topic: APNsTopic("com.example.News.voip"),
                environment: .production
            ),
            Self.key.hash(
                of: Self.token("00fe"),
                topic: news,
                environment: .production
            ),
            HashKey(low: 1, high: 3)
                .hash(of: token, topic: news, environment: .production),
            Self.key.hash(ofEvent: "com.example.News", token),
        ]
        #expect(Set(others + [first]).count == others.count + 1)
    }

    @Test func `upper and lower case have the same hash`() throws {
        let topic = APNsTopic("com.example.News")
        let names = try ["00ffA9", "00FFa9"].map {
            Self.key.hash(of: try Self.token($0), topic: topic, environment: .sandbox)
        }
        #expect(names[0] == names[1])
    }

    @Test func `event ID and token are separated in the hash`() throws {
        let names = try [("ff", "00"), ("", "00ff"), ("ff00", "00"), ("e", "00ff"), ("E", "00ff")]
            .map { Self.key.hash(ofEvent: EventID($0.0), try Self.token($0.1)) }
        #expect(Set(names).count == names.count)
    }

    /// Computed by an independent implementation of SipHash-1-3.
    ///
    /// First of the lower-case token and 7, then of that hash, the event ID and 3.
    @Test(
        arguments: [
            ("00ff", "", 0xCF7D_454A_9965_37C2),
            ("00ff", "e", 0x61B7_1DCF_FC9A_441F),
            ("0A0A0A", "chat-1", 0x9274_6A23_EA7A_12D7),
            ("be7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7C", "order-1234567890", 0x3A50_FCFC_ACE1_F3D1),
            ("ABABABABABABAB", "xxxxxxxxxxxxxxxxxxxxxxx", 0x9B59_B557_8F1E_D79C),
            ("0f0f0f0f", "0123456", 0x03EA_C7E9_94B1_F7BB),
        ] as [(String, String, UInt64)]
    )
    func `only the bytes of words count, at any alignment`(
        token: String,
        id: String,
        expected: UInt64
    ) throws {
        #expect(Self.key.hash(ofEvent: EventID(id), try Self.token(token)).rawValue == expected)
    }

    @Test func `0 is never a hash`() {
        #expect(KeyedHash(rawValue: 0).rawValue != 0)
    }
}
