import HTTP2IO

/// What libFuzzer calls with each input of the fuzzer of proxies' answers; `scripts/fuzz` builds
/// and runs it.
///
/// The first octet of an input says how the others are split. However they are split, the same must
/// come of them, and it must be what RFC 9112, 4 says of the whole text.
private func take(_ input: [UInt8]) throws {
    let answer = Array(input.dropFirst())
    let expected = verdict(of: answer)
    var state = UInt64(input.first ?? 0) &+ 1
    let whole = try outcome(of: answer) { .max }
    let split = try outcome(of: answer) {
        // Mostly small: the borders of lines are where mistakes are.
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let number = Int(state >> 33)
        return number % 7 == 0 ? 1 + number % 10_000 : 1 + number % 5
    }
    precondition(whole == expected && split == expected, "\(expected): \(whole), \(split)")
}

private enum Outcome: Hashable {
    /// No answer yet.
    case open
    case tunnel
    case failed(ProxyError)
}

/// What a client makes of the bytes in pieces of these sizes.
private func outcome(of answer: [UInt8], pieceByteCount: () -> Int) throws -> Outcome {
    let client = try ClientConnection(
        inMemoryWithServerName: "localhost",
        tunnel: ProxyTunnel(host: "localhost", port: 443),
        tls: tls
    )
    client.flush()
    let question = client.takeOutgoing()
    precondition(question.starts(with: "CONNECT localhost:443 HTTP/1.1\r\n".utf8))
    var events: [ConnectionEvent] = []
    var rest = answer[...]
    while !rest.isEmpty {
        let piece = rest.prefix(pieceByteCount())
        client.receive(Array(piece))
        client.takeEvents(into: &events)
        switch events.first {
        case .closed(.proxy(let error)): return .failed(error)
        // What comes out of the tunnel is no TLS.
        case .some: return .tunnel
        case nil: if !client.takeOutgoing().isEmpty { return .tunnel }
        }
        rest = rest.dropFirst(piece.count)
    }
    return .open
}

private let tls: TLSContext = {
    do {
        return try .client(trust: .system)
    } catch {
        preconditionFailure("no roots: \(error)")
    }
}()

/// The beginning of a status line: `d` is a digit, `n` one but 0, and `s` the end of the status.
private let statusLine = Array("HTTP/1.d ndds".utf8)

private func fits(_ byte: UInt8, _ form: UInt8) -> Bool {
    switch form {
    case UInt8(ascii: "d"): isDigit(byte)
    case UInt8(ascii: "n"): isDigit(byte) && byte != UInt8(ascii: "0")
    case UInt8(ascii: "s"): byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\r")
    default: byte == form
    }
}

/// The same by other means: by looking at the whole text, one response after the other.
private func verdict(of answer: [UInt8]) -> Outcome {
    let bound = 16_384
    var rest = answer.prefix(bound)
    while true {
        let line = Array(rest.prefix(statusLine.count))
        guard zip(line, statusLine).allSatisfy({ fits($0, $1) }) else { return .failed(.notHTTP) }
        let ends = rest.indices.dropLast(3).first {
            rest[$0..<$0 + 4].elementsEqual("\r\n\r\n".utf8)
        }
        guard let end = ends else { return answer.count > bound ? .failed(.notHTTP) : .open }
        let status = line[9..<12].reduce(0) { 10 * $0 + Int($1) - 0x30 }
        if 200..<300 ~= status { return .tunnel }
        guard 100..<200 ~= status, status != 101 else { return .failed(.refused(status: status)) }
        rest = rest[(end + 4)...]
    }
}

private func isDigit(_ byte: UInt8) -> Bool { 0x30...0x39 ~= byte }

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    do {
        try take(input)
    } catch {
        preconditionFailure("no connection: \(error)")
    }
    return 0
}
