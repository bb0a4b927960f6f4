import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct ClientConnectionTests {
    @Test func `the connection opens with the server's first SETTINGS`() throws {
        let pair = try Pair(settings: [.maxConcurrentStreams(7)])
        #expect(throws: SubmitError.notOpen) {
            try pair.client.submit(requestHeaders(), body: [], tag: 1)
        }
        pair.run()
        #expect(pair.clientEvents == [.opened(maxConcurrentStreams: 7)])
        #expect(pair.serverEvents == [.opened, .settingsAcknowledged])
    }

    @Test func `without a limit from the server, the client opens at most 100 streams`() throws {
        let pair = try Pair(settings: [])
        pair.run()
        #expect(pair.clientEvents == [.opened(maxConcurrentStreams: 100)])
    }

    @Test func `the client's own limit applies if the server allows more`() throws {
        var limits = ClientLimits()
        limits.maxOpenStreams = 3
        let pair = try Pair(settings: [.maxConcurrentStreams(UInt32.max)], limits: limits)
        pair.run()
        #expect(pair.clientEvents == [.opened(maxConcurrentStreams: 3)])
    }

    @Test func `a request arrives complete, and its response returns`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(5), body: Array("xhellox".utf8), range: 1..<6, tag: 9)
        pair.run()
        let request = try #require(pair.requests.first)
        #expect(request.headers.text(of: ":path") == "/3/device/5")
        #expect(request.headers.text(of: "apns-topic") == "com.example.MyApp")
        #expect(request.body == Array("hello".utf8))
        pair.server.respond(
            request.streamID,
            status: 400,
            headers: [("apns-id", "A-B")],
            body: Array("{}".utf8)
        )
        pair.run()
        let response = HTTP2Response(
            status: 400,
            headers: [("apns-id", "A-B")],
            body: Array("{}".utf8)
        )
        #expect(pair.clientEvents == [.responseArrived(tag: 9, response)])
        #expect(response.text(of: "apns-id") == "A-B")
        #expect(response.text(of: "apns-unique-id") == nil)
        #expect(pair.client.openStreamCount == 0)
    }

    @Test func `each of a thousand concurrent streams gets its own response`() throws {
        let pair = try Pair.opened(settings: [.maxConcurrentStreams(1000)])
        for round in 0..<3 {
            for number in 0..<1000 {
                let body = Array("\(round)/\(number)".utf8)
                try pair.client.submit(requestHeaders(number), body: body, tag: UInt64(number))
            }
            pair.run()
            #expect(pair.requests.count == 1000)
            pair.answerAll()
            pair.run()
            var answered = Set<UInt64>()
            for case .responseArrived(let tag, let response) in pair.clientEvents {
                #expect(response.body == Array("\(round)/\(tag)".utf8))
                answered.insert(tag)
            }
            #expect(answered.count == 1000)
            pair.clientEvents = []
        }
    }

    @Test(arguments: [
        (1, "\r\n", SubmitError.badHeaderField), (2, "a\u{0}b", .badHeaderField),
    ])
    func `a value that would break the framing is rejected`(
        tag: UInt64,
        value: String,
        error: SubmitError
    ) throws {
        let pair = try Pair.opened()
        var headers = requestHeaders()
        headers.append("apns-collapse-id", value)
        #expect(throws: error) { try pair.client.submit(headers, body: [], tag: tag) }
        #expect(pair.client.openStreamCount == 0)
        try pair.client.submit(requestHeaders(), body: [], tag: tag)
        pair.run()
        #expect(pair.requests.count == 1)
    }

    @Test func `a cancelled request is reset and never reported again`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(1), body: [], tag: 1)
        try pair.client.submit(requestHeaders(2), body: [], tag: 2)
        pair.run()
        pair.answerAll()
        pair.server.flush()
        #expect(pair.client.cancel(1))
        #expect(!pair.client.cancel(1))
        pair.run()
        #expect(pair.clientEvents == [.responseArrived(tag: 2, HTTP2Response(status: 200))])
        #expect(pair.client.openStreamCount == 0)
    }

    @Test func `a request cancelled before the flush is never sent`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [1, 2, 3], tag: 1)
        #expect(pair.client.cancel(1))
        pair.run()
        #expect(pair.requests.isEmpty)
        #expect(pair.clientEvents.isEmpty)
        #expect(pair.client.openStreamCount == 0)
    }

    @Test func `PING is answered`() throws {
        let pair = try Pair.opened()
        pair.client.ping()
        pair.run()
        #expect(pair.serverEvents == [.pingReceived])
        #expect(pair.clientEvents == [.pingAnswered])
    }

    @Test func `a body larger than the window is sent as the window opens`() throws {
        let pair = try Pair.opened(settings: [.initialWindowSize(100)])
        let body = (0..<50_000).map { UInt8(truncatingIfNeeded: $0) }
        try pair.client.submit(requestHeaders(), body: body, tag: 1)
        pair.run()
        #expect(pair.requests.map(\.body) == [body])
    }

    @Test func `bodies that together exceed the connection's window all arrive`() throws {
        let pair = try Pair.opened()
        let body = [UInt8](repeating: 7, count: 5000)
        for tag in 0..<100 {
            try pair.client.submit(requestHeaders(), body: body, tag: UInt64(tag))
        }
        pair.run()
        #expect(pair.requests.count == 100)
        #expect(pair.requests.allSatisfy { $0.body == body })
    }

    @Test func `requests of one turn share full TLS records`() throws {
        let pair = try Pair.opened(settings: [.maxConcurrentStreams(1000)])
        let body = [UInt8](repeating: 120, count: 150)
        for number in 0..<500 {
            try pair.client.submit(requestHeaders(number), body: body, tag: UInt64(number))
        }
        pair.client.flush()
        let ciphertext = pair.client.takeOutgoing()
        var lengths: [Int] = []
        var index = 0
        while index < ciphertext.count {
            // type, version, length (RFC 8446, 5.1)
            lengths.append(Int(ciphertext[index + 3]) << 8 | Int(ciphertext[index + 4]))
            index += 5 + (lengths.last ?? 0)
        }
        // Content type and tag: 17 octets over the plaintext.
        let full = TLSRecord.plaintextByteCount + 17
        #expect(lengths.count >= 6)
        #expect(lengths.dropLast().allSatisfy { $0 == full })
    }

    @Test func `a reader of an event can see the events after it`() throws {
        let pair = try Pair.opened()
        for tag in 1...3 as ClosedRange<UInt64> {
            try pair.client.submit(requestHeaders(), body: [], tag: tag)
        }
        pair.carryToServer()
        for request in pair.requests { pair.server.respond(request.streamID, status: 200) }
        pair.server.flush()
        pair.client.receive(pair.server.takeOutgoing())
        var seen: [[UInt64]] = []
        func note(_ events: Span<ConnectionEvent>) {
            var tags: [UInt64] = []
            for index in events.indices {
                if case .responseArrived(let tag, _) = events[index] { tags.append(tag) }
            }
            seen.append(tags)
        }
        var readCount = 0
        pair.client.readEvents(lookingAhead: note) { event in
            readCount += 1
            #expect(seen.count == readCount)
        }
        #expect(seen == [[1, 2, 3], [2, 3], [3]])
    }

    @Test func `a response read in place contains nothing of an earlier one`() throws {
        let pair = try Pair.opened()
        // Later responses are shorter.
        for headers in [[("first", "long"), ("second", "longer")], [("third", "x")], []] {
            for tag in 1...4 as ClosedRange<UInt64> {
                let body = Array(repeating: UInt8(tag), count: 100 * headers.count)
                try pair.client.submit(requestHeaders(), body: body, tag: tag)
            }
            pair.carryToServer()
            for request in pair.requests {
                pair.server.respond(
                    request.streamID,
                    status: 200,
                    headers: headers,
                    body: request.body
                )
            }
            pair.serverEvents = []
            pair.server.flush()
            pair.client.receive(pair.server.takeOutgoing())
            var tag: UInt64 = 0
            pair.client.readEvents { event in
                tag += 1
                let body = Array(repeating: UInt8(tag), count: 100 * headers.count)
                let response = HTTP2Response(status: 200, headers: headers, body: body)
                // Compared here, because keeping the event would prevent reuse of its memory.
                #expect(event == .responseArrived(tag: tag, response))
            }
            #expect(tag == 4)
        }
        pair.client.readEvents { _ in Issue.record("an event was reported twice") }
    }
}

private enum TLSRecord {
    static let plaintextByteCount = 16384
}
