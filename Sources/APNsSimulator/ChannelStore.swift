package import Vocabulary

/// One broadcast channel.
package struct Channel: Hashable, Sendable {
    /// `message-storage-policy`: whether the newest broadcast is stored for devices that join
    /// later.
    package let isStored: Bool
    /// The number of broadcasts accepted so far.
    package internal(set) var broadcasts = 0
    /// The newest broadcast while it is stored: 8 hours, or until its earlier expiration.
    package internal(set) var newest: StoredBroadcast?
}

/// The newest broadcast of a channel.
package struct StoredBroadcast: Hashable, Sendable {
    package let payload: [UInt8]
    package let until: Timestamp
}

/// The channels of all apps, separate for each environment.
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

    /// - Returns: The ID of the new channel; nil if the app has the maximum number of channels.
    mutating func create(in app: App, isStored: Bool, maxChannels: Int) -> String? {
        let count = apps[app]?.count ?? 0
        guard count < maxChannels else { return nil }
        var text: [UInt8] = []
        let bytes = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        Base64.standard.append(bytes, to: &text)
        let id = String(decoding: text, as: UTF8.self)
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

    /// All channels, in a fixed order.
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
