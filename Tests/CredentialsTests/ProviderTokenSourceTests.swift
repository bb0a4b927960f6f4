import APNsRules
import Credentials
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct ProviderTokenSourceTests {
    private static func moment(_ minutes: Int) -> Moment {
        Moment(
            instant: Instant(nanoseconds: 7) + .seconds(minutes * 60),
            timestamp: Timestamp(milliseconds: 1_437_179_036_000 + Int64(minutes) * 60_000)
        )
    }

    private static func source() throws -> ProviderTokenSource {
        let identity = try #require(
            ProviderTokenIdentity(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        )
        let signer = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        return ProviderTokenSource(SigningKey(identity: identity, signer: signer))
    }

    /// Many requests are under way when a token expires, and all of them are answered so.
    @Test func `a token that APNs calls expired is replaced once, 20 minutes after it was minted`()
        throws
    {
        let source = try Self.source()
        func expired(sentAt: Int, answeredAt: Int) -> [UInt8] {
            source.expired(sentAt: Self.moment(sentAt).instant, now: Self.moment(answeredAt))
            return source.token(now: Self.moment(answeredAt))
        }
        let first = source.token(now: Self.moment(0))
        #expect(expired(sentAt: 10, answeredAt: 19) == first)
        let second = expired(sentAt: 10, answeredAt: 20)
        #expect(second != first)
        for minute in [20, 30, 41] {
            #expect(expired(sentAt: 19, answeredAt: minute) == second, "minute \(minute)")
        }
        // One that was made anew early is kept for its time, whatever APNs says.
        #expect(expired(sentAt: 21, answeredAt: 42) == second)
        let third = source.token(now: Self.moment(65))
        #expect(third != second)
        // What was sent before tells of the token before, however late it is answered.
        #expect(expired(sentAt: 64, answeredAt: 86) == third)
        #expect(expired(sentAt: 66, answeredAt: 86) != third)
    }

    @Test func `before the first token nothing has expired`() throws {
        let source = try Self.source()
        source.expired(sentAt: Self.moment(0).instant, now: Self.moment(1))
        #expect(source.age(now: Self.moment(1).instant) == nil)
    }

    @Test func `only what was used in the last five minutes has an age that matters`() throws {
        let source = try Self.source()
        #expect(source.ageInUse(now: Self.moment(0).instant) == nil)
        _ = source.token(now: Self.moment(0))
        _ = source.token(now: Self.moment(30))
        #expect(source.ageInUse(now: Self.moment(34).instant) == .seconds(34 * 60))
        #expect(source.ageInUse(now: Self.moment(35).instant) == nil)
    }
}
