import CNghttp2

/// One entry of a SETTINGS frame (RFC 9113, 6.5.2).
public struct HTTP2Setting: Hashable, Sendable {
    public let identifier: UInt16
    public let value: UInt32

    public init(identifier: UInt16, value: UInt32) {
        self.identifier = identifier
        self.value = value
    }

    public static let headerTableSizeID: UInt16 = 1
    public static let enablePushID: UInt16 = 2
    public static let maxConcurrentStreamsID: UInt16 = 3
    public static let initialWindowSizeID: UInt16 = 4
    public static let maxFrameSizeID: UInt16 = 5

    public static let pushDisabled = HTTP2Setting(identifier: enablePushID, value: 0)

    public static func headerTableSize(_ octets: UInt32) -> Self {
        .init(identifier: headerTableSizeID, value: octets)
    }
    public static func maxConcurrentStreams(_ count: UInt32) -> Self {
        .init(identifier: maxConcurrentStreamsID, value: count)
    }
    public static func initialWindowSize(_ octets: UInt32) -> Self {
        .init(identifier: initialWindowSizeID, value: octets)
    }
    public static func maxFrameSize(_ octets: UInt32) -> Self {
        .init(identifier: maxFrameSizeID, value: octets)
    }
    public static func maxHeaderListSize(_ octets: UInt32) -> Self {
        .init(identifier: 6, value: octets)
    }

    /// The number of octets of an entry.
    static let byteCount = 6

    var bytes: [UInt8] {
        [UInt8(truncatingIfNeeded: identifier >> 8), UInt8(truncatingIfNeeded: identifier)]
            + octets(value)
    }
}

/// The error codes of RST_STREAM and GOAWAY (RFC 9113, 7).
public struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static let noError = HTTP2ErrorCode(rawValue: 0)
    public static let protocolError = HTTP2ErrorCode(rawValue: 1)
    public static let internalError = HTTP2ErrorCode(rawValue: 2)
    public static let flowControlError = HTTP2ErrorCode(rawValue: 3)
    public static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    public static let frameSizeError = HTTP2ErrorCode(rawValue: 6)
    public static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    public static let cancel = HTTP2ErrorCode(rawValue: 8)
    public static let compressionError = HTTP2ErrorCode(rawValue: 9)
    public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    public var description: String {
        // SAFETY: nghttp2_http2_strerror returns static strings.
        unsafe String(cString: nghttp2_http2_strerror(rawValue))
    }
}
