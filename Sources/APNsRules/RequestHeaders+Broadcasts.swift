import Vocabulary

extension RequestHeaders {
    /// The headers of `POST /4/broadcasts/apps/<bundle ID>`.
    ///
    /// Source: "Sending broadcast push notification requests to APNs". Priority and expiration are
    /// required, `apns-topic` is not used, and the request's ID has another name than a
    /// notification's.
    func fillBroadcast(
        _ block: inout HeaderBlock,
        for event: Event,
        to channel: ChannelID,
        bundleID: String,
        providerToken: [UInt8]?
    ) {
        begin(&block, method: "POST", providerToken: providerToken) { bytes in
            bytes.append(contentsOf: "/4/broadcasts/apps/".utf8)
            bytes.append(contentsOf: bundleID.utf8)
        }
        block.append("apns-channel-id", channel.base64)
        block.append("apns-push-type", event.pushType.rawValue)
        block.append("apns-priority", Self.priorityText(of: event))
        block.append("apns-request-id", indexing: .nameIndexedOnce) { bytes in
            event.apnsID.appendUTF8(to: &bytes)
        }
        block.append("apns-expiration", indexing: .nameIndexedOnce) { bytes in
            Decimal.append(event.expiration ?? 0, to: &bytes)
        }
    }
}
