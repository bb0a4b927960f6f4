import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// The header blocks that the client sends, as nghttp2 decodes them on the server.
@Suite struct HeaderBlockEncodingTests {
    private func fields(_ block: HeaderBlock) -> [[ArraySlice<UInt8>]] {
        block.fields.map { [block.bytes[$0.name], block.bytes[$0.value]] }
    }

    /// Sends the blocks in one turn and expects the server to read them unchanged.
    private func expectRead(_ blocks: [HeaderBlock], _ pair: Pair) throws {
        for (tag, block) in blocks.enumerated() {
            try pair.client.submit(block, body: [], tag: UInt64(tag))
        }
        pair.run()
        #expect(pair.requests.map { fields($0.headers) } == blocks.map(fields))
        pair.answerAll()
        pair.run()
        pair.clientEvents = []
        pair.serverEvents = []
    }

    private func block(topic: String, id: String, path: String = "/3/device/00") -> HeaderBlock {
        var block = HeaderBlock()
        block.append(":method", "POST")
        block.append(":scheme", "https")
        block.append(":authority", "api.push.apple.com")
        block.append(":path", path, indexing: .neverIndexed)
        block.append("apns-topic", topic)
        block.append("apns-id", id, indexing: .nameIndexedOnce)
        return block
    }

    @Test func `more topics than fit the table are read correctly`() throws {
        let pair = try Pair.opened()
        var random = SeededGenerator(seed: 20)
        for _ in 0..<40 {
            let blocks = (0..<50).map { number in
                let topic = Int.random(in: 0..<200, using: &random)
                return block(
                    topic: "com.example.app-\(topic)" + String(repeating: "x", count: topic),
                    id: "\(number)"
                )
            }
            try expectRead(blocks, pair)
        }
    }

    @Test func `a new table size applies at once`() throws {
        let pair = try Pair.opened()
        var random = SeededGenerator(seed: 21)
        for size: UInt32 in [4096, 0, 100, 4096, 65536, 200, 33, 300] {
            pair.server.submitSettings([.headerTableSize(size)])
            pair.run()
            pair.serverEvents = []
            let blocks = (0..<20).map { number in
                block(topic: "topic-\(Int.random(in: 0..<8, using: &random))", id: "\(number)")
            }
            try expectRead(blocks, pair)
        }
    }

    @Test func `lowering and raising the table size between two requests empties the table`() throws
    {
        let pair = try Pair.opened()
        try expectRead([block(topic: "a", id: "1")], pair)
        for size: UInt32 in [0, 4096] { pair.server.submitSettings([.headerTableSize(size)]) }
        pair.run()
        pair.serverEvents = []
        try expectRead([block(topic: "a", id: "2"), block(topic: "a", id: "3")], pair)
    }

    @Test func `entries that a cancelled request would have added are not referenced`()
        throws
    {
        let pair = try Pair.opened()
        try pair.client.submit(block(topic: "new", id: "1"), body: [], tag: 100)
        #expect(pair.client.cancel(100))
        try expectRead([block(topic: "new", id: "2"), block(topic: "new", id: "3")], pair)
    }

    @Test func `fields that change from block to block are read, whatever came before`() throws {
        let pair = try Pair.opened()
        var random = SeededGenerator(seed: 22)
        let names = ["authorization", "a", "ab", "apns-id"]
        let values = ["", "b", "bc", "c", String(repeating: "v", count: 62)]
        for _ in 0..<40 {
            let blocks = (0..<50).map { _ in
                var block = HeaderBlock()
                block.append(":method", "POST")
                block.append(":scheme", "https")
                block.append(":path", "/", indexing: .neverIndexed)
                block.append(":authority", "a")
                for _ in 0..<Int.random(in: 0..<16, using: &random) {
                    block.append(
                        names.randomElement(using: &random) ?? "",
                        values.randomElement(using: &random) ?? "",
                        indexing: [.indexed, .nameIndexedOnce, .neverIndexed]
                            .randomElement(using: &random) ?? .indexed
                    )
                }
                return block
            }
            try expectRead(blocks, pair)
        }
    }

    @Test(arguments: [0, 1, 126, 127, 128, 254, 255, 256, 2000, 3030, 3031, 3032, 4900])
    func `values of any length are read`(count: Int) throws {
        let pair = try Pair.opened()
        let text = String(repeating: "v", count: count)
        try expectRead(
            [
                block(topic: text, id: text, path: "/" + text),
                block(topic: text, id: text, path: "/" + text),
            ],
            pair
        )
    }

    @Test func `a block too large for a frame is rejected`() throws {
        let pair = try Pair.opened()
        let long = block(topic: String(repeating: "t", count: 16384), id: "1")
        #expect(throws: SubmitError.badHeaderField) {
            try pair.client.submit(long, body: [], tag: 1)
        }
        #expect(pair.client.openStreamCount == 0)
        try expectRead([block(topic: "t", id: "2")], pair)
    }

    @Test(arguments: [" a", "a ", "a\t", "\ta", "a\u{7F}b", "\r", "12345678\n", "\u{1}2345678"])
    func `a value with surrounding white space or a control character is rejected`(
        value: String
    ) throws {
        let pair = try Pair.opened()
        #expect(throws: SubmitError.badHeaderField) {
            try pair.client.submit(block(topic: value, id: "1"), body: [], tag: 1)
        }
        try expectRead([block(topic: "a\tb c\u{E9}", id: "1")], pair)
    }

    @Test(arguments: [0x00, 0x0A, 0x0D, 0x1F, 0x7F] as [UInt8])
    func `a control character is found at any position`(control: UInt8) throws {
        let pair = try Pair.opened()
        for position in 0..<40 {
            var value = [UInt8](repeating: UInt8(ascii: "x"), count: 40)
            value[position] = control
            var block = block(topic: "a", id: "1")
            block.append("apns-collapse-id".utf8.span, value.span)
            #expect(throws: SubmitError.badHeaderField) {
                try pair.client.submit(block, body: [], tag: 1)
            }
        }
    }
}
