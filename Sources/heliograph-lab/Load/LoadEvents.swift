import Foundation

/// Invented events: the n-th is the same in every run, except its identifier.
struct LoadEvents: Sendable {
    let bundleID: String
    let devices: Int
    /// Of a thousand events, how many are for devices that the demo's scenario refuses.
    let unhappy: Int
    /// Makes the identifiers of one run its own, so that nothing is a duplicate of an older run.
    private let run = UInt32.random(in: 0...UInt32.max)

    init(bundleID: String, devices: Int, unhappy: Int) {
        self.bundleID = bundleID
        self.devices = devices
        self.unhappy = unhappy
    }

    /// Prefixes of `examples/demo-scenario.json`: unregistered, of the other environment, of
    /// another app, rate limited, unavailable at first.
    static let unhappyPrefixes = ["dead0410", "bad00e0e", "bad0070c", "510e0429", "f1a00503"]

    func deviceToken(_ number: Int) -> String {
        let device = String(number % devices, radix: 16)
        let digits = String(repeating: "0", count: max(0, 56 - device.count)) + device
        // 389 shares no divisor with 1000: every value comes up once in a thousand, well mixed.
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
