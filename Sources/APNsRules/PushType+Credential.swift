public import Vocabulary

extension PushType {
    /// Whether APNs takes notifications of this type with a provider token only.
    ///
    /// `location`: "Sending notification requests to APNs"; `liveactivity`: Apple's engineers
    /// (developer forum, 712499). A certificate is answered as if the token were for another app.
    public var needsProviderToken: Bool { self == .location || self == .liveactivity }
}
