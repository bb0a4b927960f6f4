import Delivery
import Vocabulary

/// Merges the records about one device that have different keys in the token-status topic.
///
/// A key contains the token in lower case; other programs, and builds from before 0.1.0, spell it
/// as in the event. Compaction and partition order apply to the key's bytes. So for two spellings
/// only the records' times show which is newer, and a tombstone for one spelling leaves the other's
/// status in the topic.
///
/// Only devices with a differently spelled key are remembered. The first reading of the topic finds
/// them; if there are any, a second reading compares their records.
package struct TokenStatusKeys {
    private enum Reading { case finding, comparing, following }

    private struct Device {
        var newest: (key: [UInt8], time: Timestamp, isCleared: Bool)?
        /// The keys whose last record is not a tombstone.
        var keysWithWord: Set<[UInt8]> = []
    }

    /// Each takes about 300 bytes.
    package static let maxDevices = 100_000

    private var reading = Reading.finding
    private var devices: [KeyedHash: Device] = [:]
    private let maxDevices: Int
    /// The number of devices that were not remembered for lack of room.
    package private(set) var passedOver = 0
    /// Keys whose status is withdrawn by a tombstone for another key.
    private var outdated: [[UInt8]] = []

    package init(maxDevices: Int = Self.maxDevices) {
        self.maxDevices = maxDevices
    }

    /// Whether the record is the newest about its device, as far as the topic has been read.
    package mutating func isNewest(_ record: TokenStatusRecord) -> Bool {
        guard var device = devices[record.device] ?? newDevice(record) else { return true }
        defer { devices[record.device] = device }
        guard reading != .finding else { return true }
        let isCleared = record.word == .cleared
        if isCleared {
            device.keysWithWord.remove(record.key)
        } else {
            device.keysWithWord.insert(record.key)
        }
        if reading == .comparing, let newest = device.newest, newest.key != record.key,
            newest.time > record.time
        {
            return false
        }
        device.newest = (record.key, record.time, isCleared)
        if reading == .following, isCleared { takeBack(&device) }
        return true
    }

    /// The topic was read to its end.
    ///
    /// - Returns: whether to read it again from its beginning.
    package mutating func reachedEnd() -> Bool {
        switch reading {
        case .finding:
            reading = devices.isEmpty ? .following : .comparing
            return !devices.isEmpty
        case .comparing:
            reading = .following
            for (hash, var device) in devices where device.newest?.isCleared == true {
                takeBack(&device)
                devices[hash] = device
            }
            return false
        case .following: return false
        }
    }

    /// The keys that need a tombstone.
    package mutating func takeOutdated() -> [[UInt8]] {
        defer { outdated = [] }
        return outdated
    }

    /// Nil if the record's key is canonical, or if there is no room.
    private mutating func newDevice(_ record: TokenStatusRecord) -> Device? {
        guard record.key != record.canonicalKey else { return nil }
        guard devices.count < maxDevices else {
            passedOver += 1
            return nil
        }
        // While following, it is unknown whether there is a status in lower case: assume there is.
        return Device(keysWithWord: reading == .following ? [record.canonicalKey] : [])
    }

    private mutating func takeBack(_ device: inout Device) {
        outdated += device.keysWithWord
        device.keysWithWord = []
    }
}
