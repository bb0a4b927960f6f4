import APNsRules
import Delivery
import Vocabulary

/// Apple's side: the devices, and the state of both environments.
struct SimulatedAPNs {
    struct Device {
        let token: DeviceToken
        /// The channel, if this stands for a channel and not for a device with a token.
        var channel: ChannelID?
        let app: Int
        /// When its token dies; nil: never.
        var diesAt: Instant?
        /// Whether APNs fails with every request for it.
        var isFailing = false
        /// When the app reports the token again; nil: never.
        var revivesAt: Instant?

        func isDead(at now: Instant) -> Bool {
            guard let diesAt, diesAt <= now else { return false }
            guard let revivesAt else { return true }
            return now < revivesAt
        }
    }

    /// The devices, followed by the channels.
    private(set) var devices: [Device] = []
    /// The devices of each app.
    private(set) var devicesOfApp: [[Int32]] = Applications.apps.map { _ in [] }
    /// The devices by the hashes that the service's tables use.
    private(set) var deviceOfHash: [KeyedHash: Int32] = [:]
    /// The times since which APNs' answers declared each device's token dead.
    private var declaredDead: [Int32: Set<Timestamp>] = [:]
    /// How many devices at the start of the list get a large share of the events.
    private(set) var hotDevices = 0

    // The active disturbances; counters, because episodes overlap.
    var refusing: [APNsEnvironment: Int] = [:]
    var failing: [APNsEnvironment: Int] = [:]
    var silent: [APNsEnvironment: Int] = [:]
    var refusingStreams: [APNsEnvironment: Int] = [:]
    var resetting: [APNsEnvironment: Int] = [:]
    var slow: [APNsEnvironment: Int] = [:]
    var condemning: [APNsEnvironment: Int] = [:]
    var revoked: [Int] = Array(repeating: 0, count: Applications.credentialCount)

    init(plan: FaultPlan, _ key: HashKey, _ dice: inout Dice) {
        hotDevices = max(1, plan.devices / 50)
        devices.reserveCapacity(plan.devices)
        for number in 0..<plan.devices {
            let digits = String(0x10_0000_0000 + number, radix: 16)
            guard let token = DeviceToken(digits.count.isMultiple(of: 2) ? digits : "0" + digits)
            else { continue }
            var device = Device(token: token, app: dice.number(below: Applications.apps.count))
            if dice.comesUp(plan.chances.deadDevice) {
                let end = Int(plan.faultsEnd.components.seconds)
                let dies = Instant(nanoseconds: 0) + dice.seconds(0...end)
                device.diesAt = dies
                if dice.comesUp(plan.chances.revivedDevice) {
                    device.revivesAt = dies + dice.seconds(10...600)
                }
            }
            device.isFailing = dice.comesUp(plan.chances.failingDevice)
            deviceOfHash[Self.hash(of: device, key)] = Int32(devices.count)
            devicesOfApp[device.app].append(Int32(devices.count))
            devices.append(device)
        }
        addChannels(plan.channels, &dice)
    }

    private mutating func addChannels(_ count: Int, _ dice: inout Dice) {
        for number in 0..<count {
            let name = String(0x10_0000 + number, radix: 16)
            guard let channel = ChannelID(name), let token = DeviceToken("0" + name + "0")
            else { continue }
            let app = dice.number(below: Applications.apps.count)
            devices.append(Device(token: token, channel: channel, app: app))
        }
    }

    private static func hash(of device: Device, _ key: HashKey) -> KeyedHash {
        let app = Applications.apps[device.app]
        return key.hash(
            of: device.token,
            topic: APNsTopicRule.topic(of: .bundleID(app.bundleID), pushType: app.pushType),
            environment: app.destination
        )
    }

    mutating func declareDead(_ device: Int32, since: Timestamp) {
        declaredDead[device, default: []].insert(since)
    }

    func declaredDead(_ device: Int32, since: Timestamp) -> Bool {
        declaredDead[device]?.contains(since) == true
    }

    /// Apple's wall clock is correct.
    static func timestamp(_ instant: Instant) -> Timestamp {
        Timestamp(milliseconds: World.epoch.milliseconds + instant.nanoseconds / 1_000_000)
    }
}
