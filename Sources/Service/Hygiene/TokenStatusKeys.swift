import Delivery
import Vocabulary

/// Combines what the token-status topic says about one device under several keys.
///
/// A key holds the token in lower case now, and as the event wrote it in version 0.1. Compaction, and
/// the order in a partition, go by the key's bytes, so of two spellings only the records' times say
/// which is newer, and a tombstone under one spelling leaves the word under the other in the topic.
///
/// Only devices with a key in another spelling are remembered. The first reading of the topic finds
/// them; if there are any, a second one compares.
package struct TokenStatusKeys {
    private enum Reading { case finding, comparing, following }

    private struct Device {
        var newest: (key: [UInt8], time: Timestamp, isCleared: Bool)?
        /// Those whose last record is not a tombstone.
        var keysWithWord: Set<[UInt8]> = []
    }

    /// Some 300 bytes each.
    package static let maxDevices = 100_000

    private var reading = Reading.finding
    private var devices: [KeyedHash: Device] = [:]
    private let maxDevices: Int
    /// Devices that there was no room for.
    package private(set) var passedOver = 0
    /// Keys whose word a tombstone under another key takes back.
    private var outdated: [[UInt8]] = []

    package init(maxDevices: Int = Self.maxDevices) {
        self.maxDevices = maxDevices
    }

    /// Whether the record is the newest word on its device, as far as the topic is read.
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

    /// The topic is read to its end.
    ///
    /// - Returns: whether it is to be read once more, from its beginning.
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

    /// The keys that want a tombstone.
    package mutating func takeOutdated() -> [[UInt8]] {
        defer { outdated = [] }
        return outdated
    }

    /// nil: the record says nothing of another spelling, or there is no room.
    private mutating func newDevice(_ record: TokenStatusRecord) -> Device? {
        guard record.key != record.canonicalKey else { return nil }
        guard devices.count < maxDevices else {
            passedOver += 1
            return nil
        }
        // Whether there is a word in lower case, nobody knows any more.
        return Device(keysWithWord: reading == .following ? [record.canonicalKey] : [])
    }

    private mutating func takeBack(_ device: inout Device) {
        outdated += device.keysWithWord
        device.keysWithWord = []
    }
}
