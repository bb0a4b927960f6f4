package import Vocabulary

/// One broadcast channel.
package struct Channel: Hashable, Sendable {
    /// `message-storage-policy`: whether the newest broadcast is kept for devices that join.
    package let isStored: Bool
    /// Broadcasts accepted so far.
    package internal(set) var broadcasts = 0
    /// The newest, as long as it is kept: 8 hours, or until its expiration if that is earlier.
    package internal(set) var newest: StoredBroadcast?
}

/// The newest broadcast of a channel.
package struct StoredBroadcast: Hashable, Sendable {
    package let payload: [UInt8]
    package let until: Timestamp
}

/// The channels of all apps; each environment has its own.
///
/// Apple page "Sending channel management requests to APNs".
package struct ChannelStore: Hashable, Sendable {
    struct App: Hashable, Sendable {
        var environment: APNsEnvironment
        var bundleID: String
    }

    private static let storedSeconds: Int64 = 8 * 3600
    private var apps: [App: [String: Channel]] = [:]
    private var random = SeededGenerator(seed: .random(in: .min ... .max))

    package init() {}

    /// - Returns: the new channel's ID; nil when the app has as many as it may have.
    mutating func create(in app: App, isStored: Bool, maxChannels: Int) -> String? {
        let count = apps[app]?.count ?? 0
        guard count < maxChannels else { return nil }
        let id = Base64.text((0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        apps[app, default: [:]][id] = Channel(isStored: isStored)
        return id
    }

    func channel(_ id: String, in app: App) -> Channel? { apps[app]?[id] }

    func ids(in app: App) -> [String] { (apps[app] ?? [:]).keys.sorted() }

    mutating func delete(_ id: String, in app: App) -> Bool {
        apps[app]?.removeValue(forKey: id) != nil
    }

    mutating func broadcast(
        _ payload: [UInt8],
        expiration: Int64,
        to id: String,
        in app: App,
        now: Timestamp
    ) {
        guard var channel = apps[app]?[id] else { return }
        channel.broadcasts += 1
        if channel.isStored, expiration != 0 {
            let until = min(expiration, now.seconds + Self.storedSeconds)
            channel.newest = StoredBroadcast(
                payload: payload,
                until: Timestamp(milliseconds: until * 1000)
            )
        }
        apps[app]?[id] = channel
    }

    /// Everything, in order.
    package func all() -> [(
        environment: APNsEnvironment, bundleID: String, id: String, channel: Channel
    )] {
        let order = apps.keys.sorted {
            ($0.environment.rawValue, $0.bundleID) < ($1.environment.rawValue, $1.bundleID)
        }
        return order.flatMap { app in
            ids(in: app).compactMap { id in
                channel(id, in: app).map { (app.environment, app.bundleID, id, $0) }
            }
        }
    }
}

/// Base64 with padding (RFC 4648, 4), as channel IDs are written.
enum Base64 {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = Array(bytes[start..<min(start + 3, bytes.count)])
            let padded = group + [UInt8](repeating: 0, count: 3 - group.count)
            let number = padded.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            for place in 0...3 {
                let digit = digits[Int(number >> UInt32(18 - 6 * place) & 63)]
                text.append(place <= group.count ? digit : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the text could be one.
    static func isWellFormed(_ text: String) -> Bool {
        let content = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }
        return !text.isEmpty && text.utf8.count.isMultiple(of: 4)
            && text.utf8.count - content.count <= 2 && content.allSatisfy { digits.contains($0) }
    }
}
