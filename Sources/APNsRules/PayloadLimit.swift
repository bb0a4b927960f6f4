public import Vocabulary

/// The largest payload that APNs accepts ("Generating a remote notification").
public enum PayloadLimit {
    /// The limit in bytes of the request's body as sent.
    public static func byteCount(for pushType: PushType) -> Int {
        pushType == .voip ? 5120 : 4096
    }
}
