import Delivery
import Testing
import Vocabulary

@Suite struct CredentialParkingTests {
    private static let reason = Reason.apns(.invalidProviderToken)

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `each refused probe doubles the wait, up to 15 minutes`() {
        var (parking, longest) = (CredentialParking(), LongestWait())
        var now = at(0)
        var waits: [Duration] = []
        for _ in 0..<6 {
            #expect(parking.admits)
            parking.requestStarted()
            parking.refused(Self.reason, sentAt: now, now: now, using: &longest)
            #expect(!parking.admits)
            guard let due = parking.nextDeadline else { return }
            waits.append(due - now)
            now = due
            parking.timeAdvanced(now: now)
        }
        #expect(waits == [60, 120, 240, 480, 900, 900].map { .seconds($0) })
    }

    @Test func `the wait is in the upper half of its range, so that shards do not probe together`()
    {
        let waits = (0..<100 as Range<UInt64>).map { seed -> Duration in
            var (parking, random) = (CredentialParking(), SeededGenerator(seed: seed))
            parking.refused(Self.reason, sentAt: at(0), now: at(0), using: &random)
            return (parking.nextDeadline ?? at(0)) - at(0)
        }
        #expect(waits.allSatisfy { .seconds(30) <= $0 && $0 <= .seconds(60) })
        #expect(Set(waits).count > 90)
    }

    @Test func `further refusals of a parked credential change nothing`() {
        var (parking, longest) = (CredentialParking(), LongestWait())
        let news = parking.refused(Self.reason, sentAt: at(0), now: at(1), using: &longest)
        let again = parking.refused(
            .apns(.badCertificate),
            sentAt: at(0),
            now: at(2),
            using: &longest
        )
        #expect(news && !again)
        #expect(parking.phase == .parked(Self.reason, until: at(61)))
    }

    @Test func `one probe is in flight at a time, and an inconclusive one is returned`() {
        var (parking, longest) = (CredentialParking(), LongestWait())
        parking.refused(Self.reason, sentAt: at(0), now: at(0), using: &longest)
        parking.timeAdvanced(now: at(60))
        parking.requestStarted()
        #expect(!parking.admits)
        parking.requestAbandoned()
        #expect(parking.admits)
        parking.requestStarted()
        parking.worked()
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(61), now: at(61), using: &longest)
        #expect(parking.nextDeadline == at(121), "it worked, so the wait starts over")
    }

    @Test func `a refusal is forgotten after an hour without a probe`() {
        var (parking, longest) = (CredentialParking(), LongestWait())
        parking.refused(Self.reason, sentAt: at(0), now: at(0), using: &longest)
        parking.timeAdvanced(now: at(60))
        #expect(parking.parkedUntil == nil)
        #expect(parking.nextDeadline == at(3660))
        parking.timeAdvanced(now: at(3659))
        parking.requestStarted()
        parking.timeAdvanced(now: at(3660))
        parking.requestAbandoned()
        parking.timeAdvanced(now: at(7259))
        #expect(!parking.isWorking, "its last probe was an hour ago, but for a second")
        parking.timeAdvanced(now: at(7260))
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(7261), now: at(7261), using: &longest)
        #expect(parking.parkedUntil == at(7321))
    }

    @Test func `a new key ends the wait, and late refusals of the old key are ignored`() {
        var (parking, longest) = (CredentialParking(), LongestWait())
        parking.refused(Self.reason, sentAt: at(0), now: at(1), using: &longest)
        parking.replaced(now: at(10))
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(9), now: at(11), using: &longest)
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(10), now: at(11), using: &longest)
        #expect(!parking.isWorking)
    }
}
