/// The path of a request about broadcasts or channels.
enum ChannelRoute: Hashable {
    /// `/4/broadcasts/apps/<bundle ID>`
    case broadcast(bundleID: String)
    /// `/1/apps/<bundle ID>/channels`
    case channels(bundleID: String)
    /// `/1/apps/<bundle ID>/all-channels`
    case allChannels(bundleID: String)

    /// nil for paths that do not belong to the port that received the request.
    init?(_ head: RequestHead, _ bytes: [UInt8], isForChannels: Bool) {
        guard let range = head[.path] else { return nil }
        if !isForChannels {
            guard bytes.begins(range, with: "/4/broadcasts/apps/") else { return nil }
            let name = String(decoding: bytes[range].dropFirst(19), as: UTF8.self)
            guard !name.contains("/") else { return nil }
            self = .broadcast(bundleID: name)
            return
        }
        guard bytes.begins(range, with: "/1/apps/") else { return nil }
        let parts = bytes[range].dropFirst(8).split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        let bundleID = String(decoding: parts[0], as: UTF8.self)
        switch String(decoding: parts[1], as: UTF8.self) {
        case "channels": self = .channels(bundleID: bundleID)
        case "all-channels": self = .allChannels(bundleID: bundleID)
        default: return nil
        }
    }

    var bundleID: String {
        switch self {
        case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID): bundleID
        }
    }

    var methods: [String] {
        switch self {
        case .broadcast: ["POST"]
        case .channels: ["POST", "GET", "DELETE"]
        case .allChannels: ["GET"]
        }
    }
}
