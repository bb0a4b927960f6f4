import HTTPServer

/// What libFuzzer calls with each input of the fuzzer of HTTP requests; `scripts/fuzz` builds and
/// runs it.
///
/// The first octet of an input says how the others are split, and how long a body may be. However
/// they are split, the same requests or the same refusal must come of them, and no part of a
/// request may hold what its grammar excludes.
private func take(_ input: [UInt8]) {
    let seed = input.first ?? 0
    let maxBodyByteCount = seed.isMultiple(of: 2) ? 0 : 1 << Int(seed % 16)
    let bytes = input.dropFirst()
    let whole = steps(bytes, maxBodyByteCount) { .max }
    var state = UInt64(seed) &+ 1
    let split = steps(bytes, maxBodyByteCount) {
        // Mostly small: the borders of lines and bodies are where mistakes are.
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let number = Int(state >> 33)
        return number % 7 == 0 ? 1 + number % 10_000 : 1 + number % 5
    }
    precondition(whole == split, "\(whole) is not \(split)")
    for case .request(let request) in whole { check(request, maxBodyByteCount) }
}

/// What comes of the bytes in pieces of these sizes, invitations left out: whether a peer is
/// invited to send its body depends on what has come.
private func steps(
    _ bytes: ArraySlice<UInt8>,
    _ maxBodyByteCount: Int,
    pieceByteCount: () -> Int
) -> [RequestParser.Step] {
    var parser = RequestParser(maxBodyByteCount: maxBodyByteCount)
    var rest = bytes
    var steps: [RequestParser.Step] = []
    while true {
        let step = parser.next()
        switch step {
        case .invitation: break
        case .request: steps.append(step)
        case .refusal:
            precondition(parser.next() == step && parser.capacity == 0)
            return steps + [step]
        case .incomplete:
            precondition((1...(1 << 16)).contains(parser.capacity))
            guard !rest.isEmpty else { return steps }
            let piece = rest.prefix(min(pieceByteCount(), parser.capacity))
            parser.append(piece)
            rest = rest.dropFirst(piece.count)
        }
    }
}

private func check(_ request: HTTPRequest, _ maxBodyByteCount: Int) {
    precondition(request.body.count <= maxBodyByteCount)
    precondition(request.path.hasPrefix("/") || request.path == "*")
    let words = [request.method, request.path] + request.fields.map(\.name)
    for word in words {
        precondition(!word.isEmpty && word.utf8.allSatisfy { (0x21...0x7E).contains($0) })
    }
    for field in request.fields {
        let hasControl = field.value.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
        precondition(!hasControl && field.name == field.name.lowercased())
    }
    precondition(request.fields.count { $0.name == "host" } <= 1)
    let framing = request.fields.filter { $0.name == "content-length" }
    precondition(framing.count <= 1 && request["transfer-encoding"] == nil)
    precondition(Int(framing.first?.value ?? "0") == request.body.count)
}

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    take(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}
