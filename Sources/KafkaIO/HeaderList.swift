import CRdkafka
public import Vocabulary

/// Headers of a record that is to be produced, in the library's own form.
///
/// They can be put there one by one, from wherever they stand.
@safe public struct HeaderList: ~Copyable {
    let raw: OpaquePointer?

    /// Makes an empty list; more than `capacity` headers cost an allocation.
    public init(capacity: Int) {
        unsafe raw = rd_kafka_headers_new(capacity)
    }

    /// Copies headers.
    public init(_ headers: [RecordHeader]) {
        self.init(capacity: headers.count)
        for header in headers { add(header) }
    }

    deinit { if let raw = unsafe raw { unsafe rd_kafka_headers_destroy(raw) } }

    /// Appends a copy of a header.
    public func add(_ header: RecordHeader) {
        if let value = header.value {
            add(header.name, value.span)
        } else {
            unsafe append(header.name.utf8.span, nil, 0)
        }
    }

    /// Appends a copy of a header; its value is not null.
    public func add(_ name: String, _ value: Span<UInt8>) {
        unsafe value.withUnsafeBytes { value in
            // Of nothing, any address but null will do.
            let start = unsafe value.baseAddress ?? UnsafeRawPointer(raw)
            unsafe append(name.utf8.span, start, value.count)
        }
    }

    /// Leaves the list to the library, which has taken a record with it.
    consuming func giveUp() { discard self }

    /// The library takes the name by its length: a C string would be a copy for its last byte.
    private func append(_ name: Span<UInt8>, _ value: UnsafeRawPointer?, _ byteCount: Int) {
        unsafe name.withUnsafeBytes { name in
            _ = unsafe rd_kafka_header_add(
                raw,
                name.baseAddress?.assumingMemoryBound(to: CChar.self),
                name.count,
                value,
                byteCount
            )
        }
    }
}
