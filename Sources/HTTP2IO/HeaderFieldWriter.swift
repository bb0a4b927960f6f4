import CNghttp2
import Glibc
import Vocabulary

/// Turns header blocks into nghttp2's form, with the HPACK representation each field asks for.
///
/// One per connection, because `nameIndexedOnce` remembers what the connection has seen. Where a
/// field is not to be indexed, nghttp2 writes "never indexed" (RFC 7541, 6.2.3), which takes the
/// name's index just as "without indexing" does; `authorization` it never indexes at all.
@safe struct HeaderFieldWriter {
    private var indexedNames: [[UInt8]] = []
    /// APNs has three such names.
    private static let maxIndexedNames = 16
    private var fields: [nghttp2_nv] = unsafe []

    /// Lends the fields to `submit`.
    ///
    /// - Returns: What `submit` returned; nil when a name or value is no valid field (RFC 9113,
    ///   8.2.1), and nothing was submitted.
    mutating func withFields<Value>(
        of block: HeaderBlock,
        _ submit: (UnsafePointer<nghttp2_nv>?, Int) -> Value
    ) -> Value? {
        unsafe fields.removeAll(keepingCapacity: true)
        return unsafe block.bytes.withUnsafeBufferPointer { bytes -> Value? in
            guard let base = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress) else {
                return nil
            }
            let mayHaveControls = unsafe Self.mayHaveControls(bytes)
            // SAFETY: a HeaderBlock's ranges lie in its bytes; nghttp2 reads and copies them
            // within `submit`.
            for field in block.fields {
                let name = unsafe UnsafeBufferPointer(rebasing: bytes[field.name])
                let value = unsafe UnsafeBufferPointer(rebasing: bytes[field.value])
                guard unsafe Self.isValid(value, mayHaveControls: mayHaveControls) else {
                    return nil
                }
                let isIndexed = unsafe mayIndex(name, field.indexing)
                let flag = isIndexed ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX
                unsafe fields.append(
                    nghttp2_nv(
                        name: base + field.name.lowerBound,
                        value: base + field.value.lowerBound,
                        namelen: field.name.count,
                        valuelen: field.value.count,
                        flags: UInt8(flag.rawValue)
                    )
                )
            }
            return unsafe fields.withUnsafeBufferPointer {
                unsafe submit($0.baseAddress, $0.count)
            }
        }
    }

    /// A value may not hold NUL, CR or LF, nor begin or end with white space: a producer's text
    /// must not break the framing.
    private static func isValid(
        _ value: UnsafeBufferPointer<UInt8>,
        mayHaveControls: Bool
    ) -> Bool {
        if mayHaveControls {
            return unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        }
        return unsafe value.first != UInt8(ascii: " ") && value.last != UInt8(ascii: " ")
    }

    /// Whether any byte may be a control character, which few requests have.
    ///
    /// Eight bytes at a time, the last eight together whether seen before or not.
    private static func mayHaveControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let bytes = UnsafeRawBufferPointer(bytes)
        let last = bytes.count - 8
        guard last >= 0 else { return true }
        // In each byte's highest bit: it is below 0x20; or it is 0x7F, which becomes 0.
        var found: UInt64 = 0
        var offset = 0
        while true {
            // SAFETY: the offset is at most `last`.
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let word0 = word ^ (0x7F &* ones)
            found |= (word &- 0x20 &* ones) & ~word | (word0 &- ones) & ~word0
            if offset == last { return found & (0x80 &* ones) != 0 }
            offset = min(offset &+ 8, last)
        }
    }

    private mutating func mayIndex(
        _ name: UnsafeBufferPointer<UInt8>,
        _ indexing: HeaderBlock.Indexing
    ) -> Bool {
        switch indexing {
        case .indexed: return true
        case .neverIndexed: return false
        case .nameIndexedOnce:
            for index in indexedNames.indices where unsafe isIndexed(name, index) { return false }
            guard indexedNames.count < Self.maxIndexedNames else { return false }
            unsafe indexedNames.append(Array(name))
            return true
        }
    }

    private func isIndexed(_ name: UnsafeBufferPointer<UInt8>, _ index: Int) -> Bool {
        guard indexedNames[index].count == name.count, let start = name.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return unsafe memcmp(indexedNames[index], start, name.count) == 0
    }
}
