import HTTP2IO

/// The values of the simulator's SETTINGS frames (RFC 9113, section 6.5.2).
package struct WireSettings: Hashable, Sendable {
    package var headerTableSize: UInt32 = 4096
    /// MAX_CONCURRENT_STREAMS before the first valid provider token.
    package var unprovenStreams: UInt32 = 1
    /// MAX_CONCURRENT_STREAMS after that, or with a client certificate.
    package var provenStreams: UInt32 = 1000
    package var initialWindowSize: UInt32 = 65535
    package var maxFrameSize: UInt32 = 16384
    package var maxHeaderListSize: UInt32 = 8000

    package init() {}

    /// The first SETTINGS frame.
    var first: [HTTP2Setting] {
        [
            .headerTableSize(headerTableSize), .maxConcurrentStreams(unprovenStreams),
            .initialWindowSize(initialWindowSize), .maxFrameSize(maxFrameSize),
            .maxHeaderListSize(maxHeaderListSize),
        ]
    }
}
