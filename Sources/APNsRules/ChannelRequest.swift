public import Vocabulary

/// Which broadcasts of a channel APNs stores for unreachable devices.
///
/// Chosen when the channel is created; it cannot be changed.
public enum ChannelStorage: Int, Hashable, Sendable, CaseIterable {
    /// None; such a channel has a larger budget.
    case none = 0
    /// The newest broadcast, for up to 8 hours.
    case newest = 1

    /// The value in commands and their output.
    public var word: String {
        switch self {
        case .none: "none"
        case .newest: "newest"
        }
    }
}

/// A request to manage an app's broadcast channels.
///
/// Source: "Sending channel management requests to APNs".
public enum ChannelRequest: Hashable, Sendable {
    /// Not idempotent: repeating it creates another channel.
    case create(ChannelStorage)
    case read(ChannelID)
    /// Deletes the channel permanently.
    case delete(ChannelID)
    case list

    public var method: String {
        switch self {
        case .create: "POST"
        case .read, .list: "GET"
        case .delete: "DELETE"
        }
    }

    public func path(bundleID: String) -> String {
        switch self {
        case .create, .read, .delete: "/1/apps/\(bundleID)/channels"
        case .list: "/1/apps/\(bundleID)/all-channels"
        }
    }

    public var channel: ChannelID? {
        switch self {
        case .read(let channel), .delete(let channel): channel
        case .create, .list: nil
        }
    }

    /// The request's body; empty except for `create`.
    public var body: [UInt8] {
        guard case .create(let storage) = self else { return [] }
        let text = #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#
        return Array(text.utf8)
    }
}

extension RequestHeaders {
    /// Replaces the block's contents with the headers of a channel request.
    ///
    /// - Parameters:
    ///   - block: The block to fill.
    ///   - request: The request.
    ///   - bundleID: The app's bundle ID, without any suffix.
    ///   - requestID: Sent as `apns-request-id`; the answer repeats it.
    ///   - providerToken: The provider token; nil if a client certificate is used.
    public func fill(
        _ block: inout HeaderBlock,
        for request: ChannelRequest,
        bundleID: String,
        requestID: APNsID,
        providerToken: [UInt8]?
    ) {
        begin(&block, method: request.method, providerToken: providerToken) { bytes in
            bytes.append(contentsOf: request.path(bundleID: bundleID).utf8)
        }
        block.append("apns-request-id", indexing: .nameIndexedOnce) { bytes in
            requestID.appendUTF8(to: &bytes)
        }
        if let channel = request.channel { block.append("apns-channel-id", channel.base64) }
    }
}
