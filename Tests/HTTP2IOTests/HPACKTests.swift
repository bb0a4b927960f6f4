import HTTP2IO
import Testing
import Vocabulary

/// The representation of one header field (RFC 7541, 6), without its value.
private enum Representation: Hashable {
    /// 6.1
    case indexed(Int)
    /// 6.2.1; 0: the name is literal.
    case incremental(name: Int)
    /// 6.2.2
    case withoutIndexing(name: Int)
    /// 6.2.3
    case neverIndexed(name: Int)
    /// 6.3
    case tableSize(Int)

    /// Reads a whole header block.
    static func list(_ block: [UInt8]) -> [Representation] {
        var reader = Reader(bytes: block)
        var list: [Representation] = []
        while let first = reader.peek {
            switch first {
            case 0x80...: list.append(.indexed(reader.integer(prefix: 7)))
            case 0x40...: list.append(.incremental(name: reader.field(prefix: 6)))
            case 0x20...: list.append(.tableSize(reader.integer(prefix: 5)))
            case 0x10...: list.append(.neverIndexed(name: reader.field(prefix: 4)))
            default: list.append(.withoutIndexing(name: reader.field(prefix: 4)))
            }
        }
        return list
    }

    private struct Reader {
        let bytes: [UInt8]
        var index = 0

        var peek: UInt8? { index < bytes.count ? bytes[index] : nil }

        /// An integer (RFC 7541, 5.1).
        mutating func integer(prefix: Int) -> Int {
            let mask = 1 << prefix - 1
            var value = Int(bytes[index]) & mask
            index += 1
            if value < mask { return value }
            var shift = 0
            while true {
                let byte = Int(bytes[index])
                index += 1
                value += (byte & 127) << shift
                shift += 7
                if byte & 128 == 0 { return value }
            }
        }

        /// A string, length first (RFC 7541, 5.2).
        mutating func skipString() {
            let length = integer(prefix: 7)
            index += length
        }

        mutating func field(prefix: Int) -> Int {
            let name = integer(prefix: prefix)
            if name == 0 { skipString() }
            skipString()
            return name
        }
    }
}

@Suite struct HPACKTests {
    /// The header blocks of the client's requests, in order.
    private func blocks(_ server: RawServer) -> [[Representation]] {
        server.frames.filter { $0.type == RawFrame.headers }.map { Representation.list($0.payload) }
    }

    @Test func `each field is written according to its indexing`() throws {
        let server = try RawServer()
        for number in 1...3 {
            try server.client.submit(requestHeaders(number), body: [], tag: UInt64(number))
        }
        try server.exchange()
        // Static table (RFC 7541, appendix A): 1 :authority, 3 POST, 4 :path, 7 https,
        // 23 authorization. The dynamic table begins at 62 with the newest entry:
        // apns-id, apns-push-type, apns-topic, :authority.
        let first: [Representation] = [
            .indexed(3), .indexed(7), .incremental(name: 1), .neverIndexed(name: 4),
            .neverIndexed(name: 23), .incremental(name: 0), .incremental(name: 0),
            .incremental(name: 0),
        ]
        let later: [Representation] = [
            .indexed(3), .indexed(7), .indexed(65), .neverIndexed(name: 4),
            .neverIndexed(name: 23), .indexed(64), .indexed(63), .neverIndexed(name: 62),
        ]
        #expect(blocks(server) == [first, later, later])
    }

    @Test func `a peer without a table gets no entries`() throws {
        // SETTINGS_HEADER_TABLE_SIZE = 0
        let server = try RawServer(settings: [0, 1, 0, 0, 0, 0])
        for number in 1...2 {
            try server.client.submit(requestHeaders(number), body: [], tag: UInt64(number))
        }
        try server.exchange()
        let blocks = blocks(server)
        #expect(blocks.count == 2)
        #expect(blocks.first?.first == .tableSize(0))
        for case .indexed(let index) in blocks.joined() { #expect(index < 62) }
    }

    /// Each topic adds an entry and evicts others, including entries for names.
    @Test(arguments: [0, 128, 256, 400, 4096])
    func `a name is indexed once per connection, whatever is evicted`(tableSize: UInt32) throws {
        let server = try RawServer(settings: [0, 1] + RawFrame.octets(tableSize))
        for number in 1...90 {
            var block = HeaderBlock()
            block.append(":method", "POST")
            block.append("apns-topic", "com.example.app-\(number % 60)")
            block.append("apns-id", "\(number)", indexing: .nameIndexedOnce)
            block.append("apns-collapse-id", "\(number)", indexing: .nameIndexedOnce)
            try server.client.submit(block, body: [], tag: UInt64(number))
        }
        try server.exchange()
        let names = blocks(server).map { Array($0.suffix(2)) }
        #expect(names.count == 90)
        for place in 0..<2 {
            let isIncremental = names.map {
                if case .incremental = $0[place] { true } else { false }
            }
            #expect(isIncremental == [tableSize > 0] + [Bool](repeating: false, count: 89))
        }
    }

    @Test func `no request carries a priority`() throws {
        let server = try RawServer()
        for number in 1...20 {
            try server.client.submit(requestHeaders(number), body: [1], tag: UInt64(number))
        }
        try server.exchange()
        let headers = server.frames.filter { $0.type == RawFrame.headers }
        #expect(headers.count == 20)
        // The flag PRIORITY is 0x20 (RFC 9113, 6.2).
        #expect(headers.allSatisfy { $0.flags & 0x20 == 0 })
        #expect(!server.frames.contains { $0.type == RawFrame.priority })
    }

    @Test func `the client's SETTINGS come first and disable push`() throws {
        let server = try RawServer()
        let settings = try #require(server.frames.first)
        #expect(settings.type == RawFrame.settings)
        #expect(settings.payload.starts(with: [0, 2, 0, 0, 0, 0]))
    }
}
