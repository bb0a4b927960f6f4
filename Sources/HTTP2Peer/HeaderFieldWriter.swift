import CNghttp2
import Glibc
import HTTP2IO
import Vocabulary

/// Converts header blocks to nghttp2's form, with each field's HPACK representation.
///
/// Each connection has its own, because `nameIndexedOnce` depends on the names sent before. For
/// fields that must not be indexed, nghttp2 writes "never indexed" (RFC 7541, section 6.2.3), which
/// can still use an indexed name, as "without indexing" can; it never indexes `authorization` at
/// all.
@safe struct HeaderFieldWriter {
    private var indexedNames: [[UInt8]] = []
    /// APNs needs three names.
    private static let maxIndexedNames = 16
    private var fields: [nghttp2_nv] = unsafe []

    /// Calls `submit` with the fields.
    ///
    /// - Returns: The result of `submit`; nil if a name or value is not valid (RFC 9113, section
    ///   8.2.1), in which case nothing was submitted.
    mutating func withFields<Value>(
        of block: HeaderBlock,
        _ submit: (UnsafePointer<nghttp2_nv>?, Int) -> Value
    ) -> Value? {
        guard block.hasValidValues else { return nil }
        unsafe fields.removeAll(keepingCapacity: true)
        return unsafe block.bytes.withUnsafeBufferPointer { bytes -> Value? in
            guard let base = unsafe UnsafeMutablePointer(mutating: bytes.baseAddress) else {
                return nil
            }
            // SAFETY: a HeaderBlock's ranges lie in its bytes; nghttp2 reads and copies them within
            // `submit`.
            for field in block.fields {
                let name = unsafe UnsafeBufferPointer(rebasing: bytes[field.name])
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
        // SAFETY: both have `name.count` bytes.
        return unsafe memcmp(indexedNames[index], start, name.count) == 0
    }
}
