import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// Bytes that no honest peer would send: nothing traps, and every request ends once.
@Suite struct HostileBytesTests {
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    /// Frames with random types, flags and contents, some truncated.
    private func frames(_ generator: inout Generator) -> [UInt8] {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
            let length = Int.random(in: 0...40, using: &generator)
            let frame = RawFrame(
                type: .random(in: 0...10, using: &generator),
                flags: .random(in: 0...255, using: &generator),
                streamID: .random(in: 0...7, using: &generator),
                payload: (0..<length).map { _ in .random(in: 0...255, using: &generator) }
            )
            bytes += frame.bytes
        }
        return bytes.dropLast(Int.random(in: 0...10, using: &generator))
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `random frames never trap a client, and every request ends once`(seed: UInt64) throws {
        var generator = Generator(state: seed)
        let server = try RawServer()
        for tag in 1...UInt64(3) {
            try server.client.submit(requestHeaders(), body: [1, 2], tag: tag)
        }
        try server.exchange()
        for _ in 0..<4 where !server.client.isClosed {
            try server.send(bytes: frames(&generator))
        }
        server.client.close()
        server.client.takeEvents(into: &server.events)
        var ended: [UInt64] = []
        for event in server.events {
            switch event {
            case .responseArrived(let tag, _), .streamFailed(let tag, _): ended.append(tag)
            case .opened, .streamLimitChanged, .goAwayReceived, .pingAnswered, .closed: break
            }
        }
        #expect(ended.sorted() == [1, 2, 3])
        guard case .closed = server.events.last else {
            Issue.record("closed is not the last event")
            return
        }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `random frames never trap a server, and every request's stream ends`(
        seed: UInt64
    ) throws {
        var generator = Generator(state: seed)
        let client = try RawClient()
        // POST / over https to "a" (static entries 3, 4, 7 and 1); the body follows.
        let headers = RawFrame(
            type: 1,
            flags: 4,
            streamID: 1,
            payload: [0x83, 0x84, 0x87, 0x41, 1, 0x61]
        )
        try client.send(bytes: headers.bytes)
        #expect(client.events == [.opened])
        for _ in 0..<4 where !client.server.isClosed {
            try client.send(bytes: frames(&generator))
        }
        client.server.close()
        client.server.takeEvents(into: &client.events)
        guard case .closed = client.events.last else {
            Issue.record("closed is not the last event")
            return
        }
    }

    @Test(arguments: [(168, true), (167, false)])
    func `a request's header fields have a size limit`(limit: Int, isTaken: Bool) throws {
        var configuration = ServerConfiguration()
        configuration.maxRequestHeaderByteCount = limit
        let client = try RawClient(configuration: configuration)
        client.events = []
        // ":method: POST", ":path: /", ":scheme: https" and a literal ":authority: a": 40 octets
        // of names and values, and 32 more for each of the four.
        let block: [UInt8] = [0x83, 0x84, 0x87, 0x41, 1, 0x61]
        try client.send(bytes: RawFrame(type: 1, flags: 5, streamID: 1, payload: block).bytes)
        let isArrived = client.events.contains { event in
            if case .requestArrived(streamID: 1, _, body: []) = event { return true }
            return false
        }
        #expect(isArrived == isTaken)
        #expect(client.frames.contains { $0.type == RawFrame.reset } == !isTaken)
        #expect(!client.server.isClosed)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `flipped ciphertext ends the connection and never traps`(seed: UInt64) throws {
        var generator = Generator(state: seed)
        let pair = try seed.isMultiple(of: 2) ? Pair() : Pair.opened()
        if !seed.isMultiple(of: 2) {
            try pair.client.submit(requestHeaders(), body: [], tag: 1)
        }
        pair.client.flush()
        var bytes = pair.client.takeOutgoing()
        let index = Int.random(in: 0..<bytes.count, using: &generator)
        bytes[index] ^= .random(in: 1...255, using: &generator)
        pair.server.receive(bytes)
        pair.run()
        pair.client.receiveEnd()
        pair.server.receiveEnd()
        pair.takeEvents()
        #expect(pair.client.isClosed)
        #expect(pair.server.isClosed)
    }

    @Test(arguments: 0..<100 as Range<UInt64>)
    func `random bytes never trap either side`(seed: UInt64) throws {
        var generator = Generator(state: seed)
        let pair = try Pair()
        let bytes: [UInt8] = (0..<200).map { _ in .random(in: 0...255, using: &generator) }
        pair.server.receive(bytes)
        pair.client.receive(bytes)
        pair.run()
        pair.takeEvents()
        #expect(pair.clientEvents.count <= 1)
        #expect(pair.requests.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 7, 100])
    func `bytes mean the same when split into pieces`(pieceLength: Int) throws {
        let pair = try Pair()
        var isQuiet = false
        var isSubmitted = false
        while !isQuiet {
            pair.client.flush()
            pair.server.flush()
            let toServer = pair.client.takeOutgoing()
            let toClient = pair.server.takeOutgoing()
            isQuiet = toServer.isEmpty && toClient.isEmpty
            for start in stride(from: 0, to: toServer.count, by: pieceLength) {
                pair.server.receive(Array(toServer[start...].prefix(pieceLength)))
            }
            for start in stride(from: 0, to: toClient.count, by: pieceLength) {
                pair.client.receive(Array(toClient[start...].prefix(pieceLength)))
            }
            pair.takeEvents()
            if isQuiet, !isSubmitted {
                try pair.client.submit(requestHeaders(), body: Array("whole".utf8), tag: 1)
                isSubmitted = true
                isQuiet = false
            }
        }
        #expect(pair.requests.map(\.body) == [Array("whole".utf8)])
    }
}
