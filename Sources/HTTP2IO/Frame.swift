/// The types of frames (RFC 9113, 6); those of other types are ignored (RFC 9113, 5.5).
enum FrameType: UInt8 {
    case data = 0
    case headers = 1
    case priority = 2
    case reset = 3
    case settings = 4
    case pushPromise = 5
    case ping = 6
    case goAway = 7
    case windowUpdate = 8
    case continuation = 9
}

/// A frame's flags, which mean different things in different types (RFC 9113, 6).
struct FrameFlags: OptionSet, Hashable {
    let rawValue: UInt8

    /// DATA and HEADERS.
    static let endStream = FrameFlags(rawValue: 0x1)
    /// SETTINGS and PING.
    static let ack = FrameFlags(rawValue: 0x1)
    /// HEADERS and CONTINUATION.
    static let endHeaders = FrameFlags(rawValue: 0x4)
    /// DATA and HEADERS.
    static let padded = FrameFlags(rawValue: 0x8)
    /// HEADERS.
    static let priority = FrameFlags(rawValue: 0x20)
}

/// The head of a frame, nine octets on the wire (RFC 9113, 4.1).
struct FrameHead: Hashable {
    static let byteCount = 9
    /// The longest payload that either side sends: the initial SETTINGS_MAX_FRAME_SIZE, which this
    /// side never raises, and which every peer must accept.
    static let maxPayloadByteCount = 16384

    var payloadByteCount: Int
    /// The octet of the type, which may be unknown.
    var rawType: UInt8
    var flags: FrameFlags
    var streamID: Int32

    var type: FrameType? { FrameType(rawValue: rawType) }

    init(_ type: FrameType, _ flags: FrameFlags, streamID: Int32, payloadByteCount: Int) {
        self.payloadByteCount = payloadByteCount
        rawType = type.rawValue
        self.flags = flags
        self.streamID = streamID
    }

    /// Reads the first nine of `bytes`.
    init(_ bytes: UnsafeRawBufferPointer) {
        precondition(bytes.count >= Self.byteCount, "a frame without its head")
        // SAFETY: the count was checked.
        let start = unsafe UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))
        payloadByteCount = Int(start >> 8)
        rawType = UInt8(truncatingIfNeeded: start)
        flags = unsafe FrameFlags(rawValue: bytes[4])
        // The first bit is reserved.
        let id = unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 5, as: UInt32.self))
        streamID = Int32(truncatingIfNeeded: id & 0x7FFF_FFFF)
    }

    /// Writes the nine octets to the start of `room`.
    func write(to room: UnsafeMutableRawBufferPointer) {
        precondition(room.count >= Self.byteCount, "no room for the head of a frame")
        let start = UInt32(truncatingIfNeeded: payloadByteCount) << 8 | UInt32(rawType)
        // SAFETY: the count was checked.
        unsafe room.storeBytes(of: start.bigEndian, as: UInt32.self)
        unsafe room[4] = flags.rawValue
        unsafe room.storeBytes(of: streamID.bigEndian, toByteOffset: 5, as: Int32.self)
    }
}

extension ByteQueue {
    /// Appends a frame with a short payload.
    mutating func appendFrame(
        _ type: FrameType,
        flags: FrameFlags = [],
        streamID: Int32 = 0,
        payload: [UInt8]
    ) {
        let head = FrameHead(type, flags, streamID: streamID, payloadByteCount: payload.count)
        unsafe append(upTo: FrameHead.byteCount + payload.count) { room in
            unsafe head.write(to: room)
            unsafe room[FrameHead.byteCount...].copyBytes(from: payload)
            return room.count
        }
    }
}

/// The big-endian integer in the first four of `bytes`.
func integer(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) -> UInt32 {
    precondition(bytes.count >= offset + 4, "an integer outside its bytes")
    // SAFETY: the count was checked.
    return unsafe UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
}

/// The four octets of an integer, in the order of the wire.
func octets(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
}
