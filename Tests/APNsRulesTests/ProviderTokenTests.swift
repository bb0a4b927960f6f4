import APNsRules
import Testing
import Vocabulary

@Suite struct ProviderTokenScheduleTests {
    private let identity: ProviderTokenIdentity

    init() throws {
        identity = try #require(ProviderTokenIdentity(keyID: "ABC123DEFG", teamID: "DEF123GHIJ"))
    }

    /// The start of one slot of that key.
    private static let slotStart: Int64 = 1_437_178_676

    /// `wall` is the wall clock in seconds of the slot, `elapsed` the monotonic clock.
    private func moment(wall: Int64, elapsed: Int64? = nil) -> Moment {
        Moment(
            instant: Instant(nanoseconds: 7) + .seconds(elapsed ?? wall),
            timestamp: Timestamp(milliseconds: (Self.slotStart + wall) * 1000)
        )
    }

    /// How many slots the token is ahead of the first one.
    private func slot(_ schedule: inout ProviderTokenSchedule, _ now: Moment) -> Int64 {
        let seconds = schedule.issueTime(now: now).seconds - Self.slotStart
        return seconds.isMultiple(of: 1800) ? seconds / 1800 : .min
    }

    @Test(arguments: [
        (899, -1), (900, 0), (1799, 0), (1800, 0), (2699, 0), (2700, 1), (4500, 2), (-900, -1),
    ])
    func `a slot's token is used from 15 to 45 minutes after the slot starts`(
        seconds: Int64,
        expected: Int64
    ) {
        var fresh = ProviderTokenSchedule(identity)
        #expect(slot(&fresh, moment(wall: seconds)) == expected)
        #expect(
            fresh.age(now: moment(wall: seconds).timestamp) == .seconds(seconds - expected * 1800)
        )
        // A process that has run for long gets the same result.
        var old = ProviderTokenSchedule(identity)
        _ = slot(&old, moment(wall: seconds - 86_400))
        #expect(slot(&old, moment(wall: seconds)) == expected)
    }

    @Test func `slots of different keys begin at different times`() throws {
        let starts = try (0..<200).map { number in
            let keyID = "KEY\(1_000_000 + number)"
            var schedule = ProviderTokenSchedule(
                try #require(ProviderTokenIdentity(keyID: keyID, teamID: "DEF123GHIJ"))
            )
            return schedule.issueTime(now: moment(wall: 0)).seconds % 1800
        }
        #expect(Set(starts).count > 150)
        #expect(starts.contains { $0 < 300 } && starts.contains { $0 > 1500 })
    }

    /// The token of slot 0 is in use since second 900; the next one may not start before second
    /// 2100.
    @Test(arguments: [(901, 0), (2099, 0), (2100, 1), (2699, 1), (2700, 1)])
    func `an expired token is replaced 20 minutes after it came into use`(
        seconds: Int64,
        expected: Int64
    ) {
        for began: Int64 in [900, 2000] {
            var schedule = ProviderTokenSchedule(identity)
            _ = schedule.issueTime(now: moment(wall: min(began, seconds)))
            let now = moment(wall: seconds)
            schedule.expired(sentAt: now.instant, now: now)
            #expect(slot(&schedule, now) == expected)
        }
    }

    /// Used from second 1000 on, then not until `resumed`, then every ten seconds.
    @Test func `a token that is first used late does not expire before it is changed`() {
        for resumed in stride(from: 2700 as Int64, to: 10_000, by: 50) {
            var schedule = ProviderTokenSchedule(identity)
            for wall: Int64 in [1000, 2700] { _ = schedule.issueTime(now: moment(wall: wall)) }
            for wall in stride(from: resumed, to: resumed + 5400, by: 10) {
                let now = moment(wall: wall)
                let age = now.timestamp.seconds - schedule.issueTime(now: now).seconds
                #expect((900...3300).contains(age), "resumed at \(resumed), second \(wall)")
            }
        }
    }

    @Test func `answers about an older token are ignored`() {
        var schedule = ProviderTokenSchedule(identity)
        let sent = moment(wall: 1000)
        _ = schedule.issueTime(now: sent)
        for seconds: Int64 in [2100, 2101, 3600, 3900] {
            schedule.expired(sentAt: sent.instant, now: moment(wall: seconds))
            #expect(slot(&schedule, moment(wall: seconds)) == 1, "\(seconds)")
        }
    }

    @Test func `if the clock is behind, the token moves ahead by at most one slot in 20 minutes`() {
        var schedule = ProviderTokenSchedule(identity)
        var changes: [Int64] = []
        var last: Int64 = 0
        for seconds: Int64 in 900..<14_400 {
            let now = moment(wall: seconds)
            // A faulty peer calls every token expired.
            schedule.expired(sentAt: now.instant, now: now)
            let slot = slot(&schedule, now)
            if slot != last { changes.append(seconds) }
            last = slot
            #expect(schedule.issueTime(now: now) < now.timestamp)
        }
        #expect(changes == [2100, 3900, 5700, 7500, 9300, 11_100, 12_900])
    }

    @Test(arguments: [
        // Forward by an hour, within 20 minutes of a change and later.
        (2701, 6301, 1), (3899, 7499, 1), (3900, 7500, 3),
        // Back by an hour.
        (3899, 299, 1), (3900, 300, -1),
        // Back a little: the token is still older than 15 minutes.
        (3900, 2600, 1), (3900, 1801, 1), (3900, 1799, 0),
    ])
    func `after a jump of the wall clock the token is right 20 minutes after its last change`(
        elapsed: Int64,
        wall: Int64,
        expected: Int64
    ) {
        var schedule = ProviderTokenSchedule(identity)
        for wall: Int64 in [1000, 2600, 2700] { _ = schedule.issueTime(now: moment(wall: wall)) }
        #expect(slot(&schedule, moment(wall: wall, elapsed: elapsed)) == expected)
    }

    @Test func `a clock corrected right after the start takes effect at once`() {
        var schedule = ProviderTokenSchedule(identity)
        _ = schedule.issueTime(now: moment(wall: -1_000_000, elapsed: 0))
        #expect(slot(&schedule, moment(wall: 1000, elapsed: 3)) == 0)
    }

    @Test(arguments: 0..<40)
    func `changes are 20 minutes apart, whatever the wall clock does`(seed: UInt64) {
        var random = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func dice(_ sides: UInt64) -> Int64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            return Int64(random % sides)
        }
        var schedule = ProviderTokenSchedule(identity)
        var changedAt: [Int64] = []
        var last = schedule.issueTime(now: moment(wall: 0))
        for minute: Int64 in 1...600 {
            let wall = (minute + dice(400) - 200) * 60
            let now = moment(wall: wall, elapsed: minute * 60)
            // Some of the answers call the token expired.
            if dice(4) == 0 { schedule.expired(sentAt: now.instant, now: now) }
            let issuedAt = schedule.issueTime(now: now)
            if issuedAt != last { changedAt.append(minute) }
            last = issuedAt
        }
        #expect(changedAt.count > 10)
        for (earlier, later) in zip(changedAt, changedAt.dropFirst()) {
            #expect(later - earlier >= 20)
        }
    }
}

@Suite struct ProviderTokenTextTests {
    @Test func `header and claims are as Apple requires`() throws {
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

    @Test func `the signature follows a full stop`() {
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
    func `key ID and team ID are ten letters or digits`(keyID: String, teamID: String) {
        #expect(ProviderTokenIdentity(keyID: keyID, teamID: teamID) == nil)
    }
}
