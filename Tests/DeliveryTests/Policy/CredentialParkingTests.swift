import Delivery
import Testing
import Vocabulary

@Suite struct CredentialParkingTests {
    private static let reason = Reason.apns(.invalidProviderToken)

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test func `each probe that is refused doubles the wait, up to a quarter of an hour`() {
        var parking = CredentialParking()
        var now = at(0)
        var waits: [Duration] = []
        for _ in 0..<6 {
            #expect(parking.admits)
            parking.requestStarted()
            parking.refused(Self.reason, sentAt: now, now: now)
            #expect(!parking.admits)
            guard let due = parking.nextDeadline else { return }
            waits.append(due - now)
            now = due
            parking.timeAdvanced(now: now)
        }
        #expect(waits == [60, 120, 240, 480, 900, 900].map { .seconds($0) })
    }

    @Test func `while parked further refusals change nothing`() {
        var parking = CredentialParking()
        let news = parking.refused(Self.reason, sentAt: at(0), now: at(1))
        let again = parking.refused(.apns(.badCertificate), sentAt: at(0), now: at(2))
        #expect(news && !again)
        #expect(parking.phase == .parked(Self.reason, until: at(61)))
    }

    @Test func `one probe is out at a time, and one that proves nothing is given back`() {
        var parking = CredentialParking()
        parking.refused(Self.reason, sentAt: at(0), now: at(0))
        parking.timeAdvanced(now: at(60))
        parking.requestStarted()
        #expect(!parking.admits)
        parking.requestAbandoned()
        #expect(parking.admits)
        parking.requestStarted()
        parking.worked()
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(61), now: at(61))
        #expect(parking.nextDeadline == at(121), "it worked, so the wait begins anew")
    }

    @Test func `a new key ends the wait, and late refusals of the old key do not count`() {
        var parking = CredentialParking()
        parking.refused(Self.reason, sentAt: at(0), now: at(1))
        parking.replaced(now: at(10))
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(9), now: at(11))
        #expect(parking.isWorking)
        parking.refused(Self.reason, sentAt: at(10), now: at(11))
        #expect(!parking.isWorking)
    }
}
