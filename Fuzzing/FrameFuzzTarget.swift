import HTTP2IO

/// What libFuzzer calls with each input of the HTTP/2 fuzzer; `scripts/fuzz` builds and runs it.
///
/// An input is a script: an octet says what happens, and where it says that the peer speaks, the
/// next one says how many octets of the input it says. Whatever they are, nothing may trap or run
/// without end, each request ends once, and none is sent twice.
private func take(_ script: [UInt8]) throws {
    // SETTINGS_MAX_CONCURRENT_STREAMS = 8
    let besieged = try BesiegedClient(settings: [0, 3, 0, 0, 0, 8])
    var rest = script[...]
    var stepCount = 0
    while let step = rest.popFirst(), !besieged.server.client.isClosed, stepCount < 200 {
        stepCount += 1
        switch step % 8 {
        case 0: try besieged.submit(bodyByteCount: Int(step))
        case 1: try besieged.cancel(Int(step))
        case 2: try besieged.ping()
        case 3 where step > 240: try besieged.shutdown()
        default:
            let count = Int(rest.popFirst() ?? 0)
            try besieged.suffer(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }
    let found = besieged.contradictions()
    precondition(found.isEmpty, "what does not add up: \(found)")
}

@c(LLVMFuzzerTestOneInput)
public func takeFuzzerInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer's bytes live as long as the call.
    let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
    // An error is the transport's: TLS has ended, so that the rest cannot be said.
    try? take(input)
    return 0
}
