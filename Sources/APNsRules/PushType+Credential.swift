public import Vocabulary

extension PushType {
    /// Whether APNs accepts notifications of this type only with a provider token.
    ///
    /// `location`: "Sending notification requests to APNs"; `liveactivity`: Apple's engineers
    /// (developer forum, 712499). With a certificate, APNs answers as if the device token belonged
    /// to another app.
    public var needsProviderToken: Bool { self == .location || self == .liveactivity }

    /// Whether it can be sent with such a credential; Apple allows certificates for every
    /// broadcast.
    public func isSendable(byCertificate: Bool, isBroadcast: Bool) -> Bool {
        !byCertificate || isBroadcast || !needsProviderToken
    }
}
