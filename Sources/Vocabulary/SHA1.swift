import CSHA1

/// SHA-1 (FIPS 180-4), for name-based UUIDs only: it guards nothing here.
///
/// A version 5 UUID is defined by this function, and one is made for every event.
struct SHA1 {
    private var message = hg_sha1()

    /// The CPU is asked once.
    private static let fastestWay = hg_sha1_fastest_way()

    init() {
        unsafe hg_sha1_begin(&message, Self.fastestWay)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_sha1_append(&message, bytes.baseAddress, bytes.count)
        }
    }

    mutating func update(_ byte: UInt8) {
        var byte = byte
        unsafe hg_sha1_append(&message, &byte, 1)
    }

    /// Hashes the eight bytes of a word, the highest first.
    mutating func update(_ word: UInt64) {
        var word = word.bigEndian
        unsafe withUnsafeBytes(of: &word) { bytes in
            unsafe hg_sha1_append(
                &message,
                bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
                bytes.count
            )
        }
    }

    /// Hashes the bytes with A-Z as a-z.
    mutating func updateLowercased(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_sha1_append_lowercased(&message, bytes.baseAddress, bytes.count)
        }
    }

    /// The digest as five big-endian words.
    ///
    /// The value must not be used afterwards.
    mutating func finish() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        unsafe hg_sha1_end(&message)
        return message.state
    }
}
