import Glibc

/// A few names of header fields.
struct FieldNames {
    private let names: [[UInt8]]
    /// A bit for each length that a name has; most others are told apart by it.
    private let lengths: UInt64

    /// - Parameter names: In lower case, shorter than 64 bytes.
    init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
    }

    func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard lengths >> UInt64(name.count) & 1 != 0, let start = name.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return names.contains {
            unsafe $0.count == name.count && memcmp($0, start, name.count) == 0
        }
    }
}
