import Foundation

/// Generated events: the n-th event is the same in every run, except for its ID.
struct LoadEvents: Sendable {
    let bundleID: String
    let devices: Int
    /// How many of a thousand events go to devices that the demo's scenario refuses.
    let unhappy: Int
    /// Makes the IDs unique to one run, so that no event is a duplicate of an earlier run.
    private let run = UInt32.random(in: 0...UInt32.max)

    init(bundleID: String, devices: Int, unhappy: Int) {
        self.bundleID = bundleID
        self.devices = devices
        self.unhappy = unhappy
    }

    /// Token prefixes of `examples/demo-scenario.json`, in this order.
    ///
    /// They mean: unregistered, of the other environment, of another app, rate limited, unavailable
    /// at first.
    static let unhappyPrefixes = ["dead0410", "bad00e0e", "bad0070c", "510e0429", "f1a00503"]

    func deviceToken(_ number: Int) -> String {
        let device = String(number % devices, radix: 16)
        let digits = String(repeating: "0", count: max(0, 56 - device.count)) + device
        // 389 and 1000 are coprime, so each value occurs once in a thousand, well mixed.
        guard number &* 389 % 1000 < unhappy else { return "a11ce000" + digits }
        return Self.unhappyPrefixes[number % Self.unhappyPrefixes.count] + digits
    }

    func key(_ number: Int) -> [UInt8] {
        Array(deviceToken(number).utf8)
    }

    func value(_ number: Int, at time: Date) -> [UInt8] {
        let occurredAt = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        return Array(
            """
            {"id":"load-\(run)-\(number)","device_token":"\(deviceToken(number))",\
            "bundle_id":"\(bundleID)","push_type":"alert","occurred_at":"\(occurredAt)",\
            "payload":{"aps":{"alert":{"title":"Load","body":"Number \(number)"}}}}
            """.utf8
        )
    }
}
