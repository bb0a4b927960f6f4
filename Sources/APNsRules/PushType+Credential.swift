public import Vocabulary

extension PushType {
    /// Whether APNs takes notifications of this type with a provider token only.
    ///
    /// `location`: "Sending notification requests to APNs"; `liveactivity`: Apple's engineers
    /// (developer forum, 712499). A certificate is answered as if the token were for another app.
    public var needsProviderToken: Bool { self == .location || self == .liveactivity }

    /// Whether it is sent with such a credential; Apple allows certificates for every broadcast.
    public func isSendable(byCertificate: Bool, isBroadcast: Bool) -> Bool {
        !byCertificate || isBroadcast || !needsProviderToken
    }
}
