import Delivery
import Testing
import Vocabulary

@Suite struct KeyedHashTests {
    private static let key = HashKey(low: 1, high: 2)

    private static func token(_ text: String) throws -> DeviceToken {
        try #require(DeviceToken(text))
    }

    @Test func `a token is another one for every topic, environment and key`() throws {
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

    @Test func `upper and lower case are the same token`() throws {
        let topic = APNsTopic("com.example.News")
        let names = try ["00ffA9", "00FFa9"].map {
            Self.key.hash(of: try Self.token($0), topic: topic, environment: .sandbox)
        }
        #expect(names[0] == names[1])
    }

    @Test func `an event's identifier does not run into its token`() throws {
        let names = try [("ff", "00"), ("", "00ff"), ("ff00", "00"), ("e", "00ff"), ("E", "00ff")]
            .map { Self.key.hash(ofEvent: $0.0, try Self.token($0.1)) }
        #expect(Set(names).count == names.count)
    }

    /// Computed by another implementation of SipHash-1-3, byte for byte.
    @Test(
        arguments: [
            ("00ff", "", 0x1F7F_68A3_11B5_95DF),
            ("00ff", "e", 0xA738_33CD_795A_E355),
            ("0A0A0A", "chat-1", 0x8DA6_C405_7F62_13AE),
            ("be7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7Cbe7C", "order-1234567890", 0xEFBB_6AB8_9DF4_AF15),
            ("ABABABABABABAB", "xxxxxxxxxxxxxxxxxxxxxxx", 0xEBA3_0A6F_5BDF_3FA4),
            ("0f0f0f0f", "0123456", 0x6E2A_BF42_AFB3_6167),
        ] as [(String, String, UInt64)]
    )
    func `words count as their bytes do, wherever they begin`(
        token: String,
        id: String,
        expected: UInt64
    ) throws {
        #expect(Self.key.hash(ofEvent: id, try Self.token(token)).rawValue == expected)
    }

    @Test func `0 is no hash`() {
        #expect(KeyedHash(rawValue: 0).rawValue != 0)
    }
}
