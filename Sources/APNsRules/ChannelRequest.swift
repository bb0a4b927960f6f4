public import Vocabulary

/// What APNs stores of a channel's broadcasts for unreachable devices.
///
/// Chosen when the channel is created, for ever.
public enum ChannelStorage: Int, Hashable, Sendable, CaseIterable {
    /// Nothing; the channel has a larger budget.
    case none = 0
    /// The newest one, for up to 8 hours.
    case newest = 1

    /// The word in commands and their answers.
    public var word: String {
        switch self {
        case .none: "none"
        case .newest: "newest"
        }
    }
}

/// A request about an app's broadcast channels.
///
/// Source: "Sending channel management requests to APNs".
public enum ChannelRequest: Hashable, Sendable {
    /// Not idempotent: once more is one channel more.
    case create(ChannelStorage)
    case read(ChannelID)
    /// Permanently.
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

    /// Empty for all but `create`.
    public var body: [UInt8] {
        guard case .create(let storage) = self else { return [] }
        let text = #"{"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#
        return Array(text.utf8)
    }
}

extension RequestHeaders {
    /// Replaces what is in the block by the headers of one request about channels.
    ///
    /// - Parameters:
    ///   - block: What is filled.
    ///   - request: What is asked.
    ///   - bundleID: The app's, without any suffix.
    ///   - requestID: Sent as `apns-request-id`, which the answer repeats.
    ///   - providerToken: The token's text; nil where a client certificate speaks.
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
