/// What the configuration decides about token hygiene.
public struct HygieneSettings: Hashable, Sendable {
    /// Send nothing to a token that APNs called dead, until it is registered anew.
    public var suppressesUnregistered: Bool
    /// Notifications that a shard remembers for certain; 0: duplicates are not looked for.
    public var dedupWindow: Int
    /// Nil: every answer of APNs about a token is believed.
    public var fuse: TokenFuse.Settings?
    /// The same for every shard of the process, and for the list that they share.
    public var hashKey: HashKey

    public init(
        suppressesUnregistered: Bool = true,
        dedupWindow: Int = 100_000,
        fuse: TokenFuse.Settings? = .init(),
        hashKey: HashKey = HashKey(low: 0, high: 0)
    ) {
        self.suppressesUnregistered = suppressesUnregistered
        self.dedupWindow = dedupWindow
        self.fuse = fuse
        self.hashKey = hashKey
    }
}
