import Delivery
import Testing
import Vocabulary

@Suite struct DevicePacingTests {
    private func device(
        _ hexadecimal: String,
        _ topic: String = "com.example.App"
    ) throws -> KeyedHash {
        let token = try #require(DeviceToken(hexadecimal))
        return HashKey(low: 1, high: 2).hash(
            of: token,
            topic: APNsTopic(topic),
            environment: .production
        )
    }

    private func id(_ slot: UInt32) -> DeliveryID { DeliveryID(slot: slot, generation: 1) }

    @Test func `a device's deliveries are sent one at a time, in order`() throws {
        var pacing = DevicePacing()
        let device = try device("00ff")
        let mayGo = [5, 2, 9].map { pacing.joined(id($0), device) }
        #expect(mayGo == [true, false, false])
        let next = [5, 2, 9].map { pacing.left(id($0), device)?.next }
        #expect(next == [id(2), id(9), nil])
        #expect(pacing.deviceCount == 0)
    }

    @Test func `devices, and one device's apps, do not wait for each other`() throws {
        var pacing = DevicePacing()
        let devices = [
            try device("00ff"), try device("00fe"), try device("00ff", "com.example.Other"),
            // Case does not matter.
            try device("00FF"),
        ]
        let mayGo = devices.enumerated().map { pacing.joined(id(UInt32($0)), $1) }
        #expect(mayGo == [true, true, true, false])
    }

    @Test(
        arguments: [
            (leaves: 1 as UInt32, line: [3, 2, 0] as [UInt32], next: nil as UInt32?),
            (2, [3, 1, 0], nil), (3, [2, 1, 0], nil), (0, [3, 2, 1], 1),
        ]
    )
    func `if one delivery leaves, the others keep their order`(
        leaves: UInt32,
        line: [UInt32],
        next: UInt32?
    ) throws {
        var pacing = DevicePacing()
        let device = try device("00")
        for slot in 0..<4 as Range<UInt32> { _ = pacing.joined(id(slot), device) }
        let left = pacing.left(id(leaves), device)
        #expect(left?.next == next.map(id))
        #expect(pacing.line(of: device) == line.map(id))
        _ = pacing.joined(id(7), device)
        #expect(pacing.line(of: device) == ([7] + line).map(id))
    }

    @Test func `a throttled device passes its wait to the next in line`() throws {
        var pacing = DevicePacing()
        let device = try device("00")
        let until = Instant(nanoseconds: 7)
        for slot in 0..<3 as Range<UInt32> { _ = pacing.joined(id(slot), device) }
        pacing.throttled(device, until: until)
        #expect(pacing.isThrottled(device))
        let second = pacing.left(id(0), device)
        #expect(second?.notBefore == until)
        pacing.relieved(device)
        let last = pacing.left(id(1), device)
        #expect(last?.next == id(2) && last?.notBefore == nil)
    }
}
