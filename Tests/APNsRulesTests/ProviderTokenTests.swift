import APNsRules
import Testing
import Vocabulary

@Suite struct ProviderTokenScheduleTests {
    private static let start = Instant(nanoseconds: 7)

    private func at(minutes: Int, seconds: Int = 0) -> Instant {
        Self.start + .seconds(minutes * 60 + seconds)
    }

    /// `wallMinutes` is what the wall clock shows; nil: it agrees with the monotonic one.
    private func moment(minutes: Int, seconds: Int = 0, wallMinutes: Int? = nil) -> Moment {
        let wallSeconds = wallMinutes.map { $0 * 60 } ?? minutes * 60 + seconds
        return Moment(
            instant: at(minutes: minutes, seconds: seconds),
            timestamp: Timestamp(milliseconds: 1_437_179_036_000 + Int64(wallSeconds) * 1000)
        )
    }

    @Test(arguments: [
        // The clocks agree.
        (20, 20, false), (44, 44, false), (45, 45, true),
        // The wall clock jumped forward: `iat` is old for APNs, but 20 minutes must pass.
        (21, 50, false), (21, 51, true), (19, 500, false), (20, 500, true),
        // It was set back: `iat` lies in the future.
        (21, -1, false), (21, -2, true), (19, -500, false), (20, -500, true),
        // A wall clock that stands still keeps no token beyond its age.
        (45, 0, true),
    ])
    func `a token is replaced when the wall clock makes it strange, never within 20 minutes`(
        minutes: Int,
        wallMinutes: Int,
        isMinted: Bool
    ) {
        var schedule = ProviderTokenSchedule()
        _ = schedule.minted(now: moment(minutes: 0))
        let now = moment(minutes: minutes, wallMinutes: wallMinutes)
        #expect((schedule.tokenWanted(now: now) == .mint) == isMinted)
        guard isMinted else { return }
        _ = schedule.minted(now: now)
        // The new one is as strange as the clock is: not at all.
        #expect(schedule.tokenWanted(now: now) == .useCurrent)
    }

    @Test(arguments: 0..<40)
    func `whatever the wall clock does, tokens are 20 to 60 minutes apart`(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func dice(_ sides: UInt64) -> Int {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int(random % sides)
        }
        var schedule = ProviderTokenSchedule()
        var mintedAt = [0]
        var serial = schedule.minted(now: moment(minutes: 0))
        for minute in 1...600 {
            let now = moment(minutes: minute, wallMinutes: minute + dice(400) - 200)
            // A share of the answers calls the token expired.
            let isRefused = dice(4) == 0
            let action =
                isRefused
                ? schedule.expired(serial: serial, now: now.instant)
                : schedule.tokenWanted(now: now)
            guard action == .mint else { continue }
            serial = schedule.minted(now: now)
            mintedAt.append(minute)
        }
        for (earlier, later) in zip(mintedAt, mintedAt.dropFirst()) {
            #expect((20..<60).contains(later - earlier))
        }
    }

    @Test func `a token is minted first, used, and replaced at its age`() {
        var schedule = ProviderTokenSchedule()
        #expect(schedule.tokenWanted(now: moment(minutes: 0)) == .mint)
        #expect(schedule.minted(now: moment(minutes: 0)) == 1)
        #expect(schedule.tokenWanted(now: moment(minutes: 44, seconds: 59)) == .useCurrent)
        #expect(schedule.tokenWanted(now: moment(minutes: 45)) == .mint)
        #expect(schedule.minted(now: moment(minutes: 45)) == 2)
        #expect(schedule.tokenWanted(now: moment(minutes: 46)) == .useCurrent)
    }

    @Test(arguments: [
        (0, 0, ProviderTokenSchedule.Action.wait(until: start + .seconds(1200))),
        (19, 59, .wait(until: start + .seconds(1200))),
        (20, 0, .mint),
        (44, 59, .mint),
    ])
    func `a token called expired is replaced early, 20 minutes after it was made`(
        minutes: Int,
        seconds: Int,
        expected: ProviderTokenSchedule.Action
    ) {
        var schedule = ProviderTokenSchedule()
        let serial = schedule.minted(now: moment(minutes: 0))
        #expect(
            schedule.expired(serial: serial, now: at(minutes: minutes, seconds: seconds))
                == expected
        )
    }

    @Test func `answers about an older token change nothing`() {
        var schedule = ProviderTokenSchedule()
        let old = schedule.minted(now: moment(minutes: 0))
        #expect(schedule.expired(serial: old, now: at(minutes: 30)) == .mint)
        let new = schedule.minted(now: moment(minutes: 30))
        #expect(schedule.expired(serial: old, now: at(minutes: 30)) == .useCurrent)
        #expect(schedule.expired(serial: old, now: at(minutes: 60)) == .useCurrent)
        #expect(new == old + 1)
    }

    @Test func `there is one early refresh, then the regular age counts`() {
        var schedule = ProviderTokenSchedule()
        let first = schedule.minted(now: moment(minutes: 0))
        #expect(schedule.expired(serial: first, now: at(minutes: 25)) == .mint)
        let early = schedule.minted(now: moment(minutes: 25))
        let regular = ProviderTokenSchedule.Action.wait(until: at(minutes: 70))
        #expect(schedule.expired(serial: early, now: at(minutes: 25)) == regular)
        #expect(schedule.expired(serial: early, now: at(minutes: 50)) == regular)
        #expect(schedule.tokenWanted(now: moment(minutes: 70)) == .mint)
        let next = schedule.minted(now: moment(minutes: 70))
        #expect(schedule.expired(serial: next, now: at(minutes: 90)) == .mint)
    }

    @Test func `a refresh age outside 20 to 60 minutes is a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            _ = ProviderTokenSchedule(refreshAfter: .seconds(20 * 60 - 1))
        }
        await #expect(processExitsWith: .failure) {
            _ = ProviderTokenSchedule(refreshAfter: .seconds(60 * 60))
        }
    }
}

@Suite struct ProviderTokenTextTests {
    @Test func `header and claims are what Apple asks for`() throws {
        let identity = try #require(
            ProviderTokenIdentity(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        )
        let input = ProviderTokenText.signingInput(
            identity: identity,
            issuedAt: Timestamp(milliseconds: 1_437_179_036_999)
        )
        let parts = input.split(separator: UInt8(ascii: "."))
        let decoded = try parts.map { part in
            String(decoding: try #require(Base64.url.decode(part)), as: UTF8.self)
        }
        #expect(
            decoded == [
                #"{"alg":"ES256","kid":"ABC123DEFG"}"#, #"{"iss":"DEF123GHIJ","iat":1437179036}"#,
            ]
        )
    }

    @Test func `the signature follows behind a full stop`() {
        let token = ProviderTokenText.token(
            signingInput: Array("h.c".utf8),
            signature: [UInt8](repeating: 0xFF, count: 64)
        )
        #expect(
            String(decoding: token, as: UTF8.self)
                == "h.c." + String(repeating: "_", count: 85) + "w"
        )
    }

    @Test(arguments: [
        ("ABC123DEF", "DEF123GHIJ"), ("ABC123DEFGH", "DEF123GHIJ"), ("ABC123DEFG", "DEF123GHI\""),
        ("ABC 123DEF", "DEF123GHIJ"), ("", ""),
    ])
    func `identifiers are ten letters or digits`(keyID: String, teamID: String) {
        #expect(ProviderTokenIdentity(keyID: keyID, teamID: teamID) == nil)
    }
}
