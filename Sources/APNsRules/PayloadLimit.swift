package import Vocabulary

/// The largest payload that APNs takes ("Generating a remote notification").
package enum PayloadLimit {
    /// In bytes of the request's body as it is sent.
    package static func byteCount(for pushType: PushType) -> Int {
        pushType == .voip ? 5120 : 4096
    }
}
