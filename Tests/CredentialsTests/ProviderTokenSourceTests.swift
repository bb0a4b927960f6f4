import APNsRules
import Credentials
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct ProviderTokenSourceTests {
    private let pem = EphemeralAuthority.signingKeyPEM()

    /// Seconds after a fixed time.
    private static func moment(_ seconds: Int, skew: Int = 0) -> Moment {
        Moment(
            instant: Instant(nanoseconds: 7) + .seconds(seconds),
            timestamp: Timestamp(milliseconds: 1_437_179_036_000 + Int64(seconds + skew) * 1000)
        )
    }

    private func source() throws -> ProviderTokenSource {
        let identity = try #require(
            ProviderTokenIdentity(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        )
        return ProviderTokenSource(
            SigningKey(identity: identity, signer: try ES256Signer(pem: pem))
        )
    }

    private struct Sighting {
        var first: Int
        var last: Int
        var issuedAt: Int
    }

    /// The tokens that APNs sees from processes that restart and whose clocks differ by up to four
    /// minutes.
    @Test func `fifty processes use one token per slot, byte for byte the same`() throws {
        let skews = (0..<50).map { -120 + $0 * 240 / 49 }
        var processes = try skews.map { _ in try source() }
        var seen: [[UInt8]: Sighting] = [:]
        for seconds in stride(from: 0, to: 4 * 3600, by: 30) {
            let restarted = seconds / 30 % 50
            processes[restarted] = try source()
            for (process, skew) in zip(processes, skews) {
                let token = process.token(now: Self.moment(seconds, skew: skew))
                let issuedAt = try Self.issueTime(of: token)
                seen[token, default: Sighting(first: seconds, last: 0, issuedAt: issuedAt)].last =
                    seconds
            }
        }
        let sightings = seen.values.sorted { $0.issuedAt < $1.issuedAt }
        // As many tokens as slots: all signatures of a slot are equal.
        #expect(sightings.count == 9)
        for (earlier, later) in zip(sightings, sightings.dropFirst()) {
            #expect(later.issuedAt - earlier.issuedAt == 1800)
            #expect(later.first - earlier.first >= 1200 || earlier.first == 0)
            // Both tokens are in use only while the clocks differ.
            #expect(earlier.last - later.first <= 240)
        }
        for sighting in sightings {
            #expect(sighting.first - sighting.issuedAt > 0)
            #expect(sighting.last - sighting.issuedAt < 3600)
        }
    }

    /// Seconds after the same time.
    private static func issueTime(of token: [UInt8]) throws -> Int {
        let claims = try #require(
            Base64.url.decode(token.split(separator: UInt8(ascii: "."))[1])
        )
        let digits = String(decoding: claims, as: UTF8.self).filter(\.isNumber).suffix(10)
        return try #require(Int(digits)) - 1_437_179_036
    }

    /// Many requests are in flight when a token expires, and all get this answer.
    @Test func `a token that APNs calls expired is replaced once`() throws {
        let source = try source()
        func expired(sentAt: Int, answeredAt: Int) -> [UInt8] {
            source.expired(sentAt: Self.moment(sentAt).instant, now: Self.moment(answeredAt))
            return source.token(now: Self.moment(answeredAt))
        }
        let first = source.token(now: Self.moment(600))
        // 20 minutes after it came into use.
        let early = try Self.issueTime(of: first) + 2100
        #expect(expired(sentAt: early - 1, answeredAt: early - 1) == first)
        let second = expired(sentAt: early - 1, answeredAt: early)
        #expect(second != first)
        for seconds in [early, early + 60, early + 2399] {
            #expect(expired(sentAt: early - 1, answeredAt: seconds) == second, "\(seconds)")
        }
        // Another process uses the same token when its time comes.
        #expect(try self.source().token(now: Self.moment(early + 600)) == second)
    }

    @Test func `before the first token nothing has expired`() throws {
        let source = try source()
        source.expired(sentAt: Self.moment(0).instant, now: Self.moment(1))
        #expect(source.ageInUse(now: Self.moment(1)) == nil)
    }

    @Test func `only a token used in the last five minutes has an age`() throws {
        let source = try source()
        #expect(source.ageInUse(now: Self.moment(0)) == nil)
        let issuedAt = try Self.issueTime(of: source.token(now: Self.moment(60)))
        #expect(source.ageInUse(now: Self.moment(359)) == .seconds(359 - issuedAt))
        #expect(source.ageInUse(now: Self.moment(360)) == nil)
    }
}
