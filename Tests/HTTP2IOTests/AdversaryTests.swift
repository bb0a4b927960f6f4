import HTTP2IO
import Testing
import Vocabulary

/// A peer that knows HTTP/2 and violates it, driven by a seed.
///
/// Its frames are almost correct: duplicated, out of order, truncated or damaged.
private struct Adversary {
    var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }

    mutating func pick<Value>(_ values: [Value]) -> Value { values[number(0...values.count - 1)] }

    mutating func strikes(oneIn chances: Int) -> Bool { number(1...chances) == 1 }

    /// A batch of frames for a client that has opened about `streamCount` streams.
    mutating func bytes(streamCount: Int) -> [UInt8] {
        var frames: [RawFrame] = []
        for _ in 0..<number(1...6) { frames += happening(streamCount: streamCount) }
        guard !frames.isEmpty else { return [] }
        if strikes(oneIn: 3) { frames.append(pick(frames)) }
        if strikes(oneIn: 3) { frames.swapAt(number(0...frames.count - 1), 0) }
        if strikes(oneIn: 6) { frames.remove(at: number(0...frames.count - 1)) }
        var bytes = frames.flatMap(\.bytes)
        if strikes(oneIn: 50), !bytes.isEmpty {
            bytes[number(0...bytes.count - 1)] ^= UInt8(1 << number(0...7))
        }
        if strikes(oneIn: 80) { bytes.removeLast(min(bytes.count, number(1...12))) }
        return bytes
    }

    /// Usually a stream that the client has opened, sometimes any other.
    private mutating func streamID(_ count: Int) -> UInt32 {
        if strikes(oneIn: 60) { return UInt32(number(0...2 * count + 8)) }
        return UInt32(2 * number(0...max(0, count - 1)) + 1)
    }

    private mutating func happening(streamCount: Int) -> [RawFrame] {
        let stream = streamID(streamCount)
        switch number(0...15) {
        case 0...4: return answer(stream)
        case 5: return [reset(stream)]
        case 6 where strikes(oneIn: 12): return [goAway(streamCount)]
        case 7...8: return [settings()]
        case 9...10: return [windowUpdate(stream)]
        case 11:
            return [
                RawFrame(type: 6, flags: pick([0, 1]), payload: octets(strikes(oneIn: 30) ? 7 : 8))
            ]
        case 12 where strikes(oneIn: 10): return [oddity(stream)]
        case 13: return [RawFrame(type: UInt8(number(11...255)), streamID: stream)]
        default: return []
        }
    }

    /// A response, complete or with parts missing; static entries of RFC 7541, appendix A.
    private mutating func answer(_ stream: UInt32) -> [RawFrame] {
        // 8: status 200, 12: 400, 14: 500; and a content-type.
        let blocks: [[UInt8]] = [[0x88], [0x8c], [0x8e], [0x88, 0x5f, 1, 0x61]]
        let breaches: [[UInt8]] = [[0x82], [], [0xff, 0xff, 0xff]]
        let block = strikes(oneIn: 40) ? pick(breaches) : pick(blocks)
        let informational: [UInt8] = [0x08, 3, 0x31, 0x30, 0x33]
        var frames: [RawFrame] = []
        if strikes(oneIn: 8) {
            frames.append(RawFrame(type: 1, flags: 4, streamID: stream, payload: informational))
        }
        let endsAtOnce = strikes(oneIn: 2)
        let flags: UInt8 = endsAtOnce ? 5 : 4
        frames.append(RawFrame(type: 1, flags: flags, streamID: stream, payload: block))
        if !endsAtOnce, !strikes(oneIn: 5) {
            let body = RawFrame(
                type: 0,
                flags: 1,
                streamID: stream,
                payload: octets(number(0...99))
            )
            frames.append(body)
        }
        return frames
    }

    private mutating func reset(_ stream: UInt32) -> RawFrame {
        let code = UInt32(pick([0, 1, 2, 5, 7, 7, 8, 13, 99]))
        return RawFrame(type: 3, streamID: stream, payload: RawFrame.octets(code))
    }

    private mutating func goAway(_ streamCount: Int) -> RawFrame {
        let last = pick([0, UInt32(number(0...2 * streamCount + 3)), 0x7fff_ffff])
        let debug = pick(["", "{\"reason\":\"Shutdown\"}", "\u{0}"])
        let payload = RawFrame.octets(last) + RawFrame.octets(pick([0, 1, 7, 11])) + debug.utf8
        return RawFrame(type: 7, payload: payload)
    }

    private mutating func settings() -> RawFrame {
        let entries: [(UInt8, UInt32)] = [
            (3, 0), (3, 1), (3, 5), (3, 1000), (4, 0), (4, 7), (4, 65535), (1, 0), (1, 4096),
            (1, .max), (6, 0), (9, 1), (5, 16384), (5, 16_777_215),
        ]
        // Values that RFC 9113, 6.5.2 forbids.
        let breaches: [(UInt8, UInt32)] = [(4, 0x8000_0000), (5, 100), (2, 7)]
        let (name, value) = strikes(oneIn: 60) ? pick(breaches) : pick(entries)
        if strikes(oneIn: 15) { return RawFrame(type: 4, flags: 1) }
        return RawFrame(type: 4, payload: [0, name] + RawFrame.octets(value))
    }

    private mutating func windowUpdate(_ stream: UInt32) -> RawFrame {
        let increment = UInt32(pick([1, 100, 65535, 65535, 1_000_000]))
        let breach = UInt32(pick([0, 0x7fff_ffff]))
        return RawFrame(
            type: 8,
            streamID: pick([0, stream]),
            payload: RawFrame.octets(strikes(oneIn: 60) ? breach : increment)
        )
    }

    /// PUSH_PROMISE, CONTINUATION or PRIORITY, which a server may not send here.
    private mutating func oddity(_ stream: UInt32) -> RawFrame {
        let type = UInt8(pick([2, 5, 9]))
        return RawFrame(type: type, flags: 4, streamID: stream, payload: octets(number(0...8)))
    }

    private mutating func octets(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

@Suite struct AdversaryTests {
    @Test(arguments: 0..<400 as Range<UInt64>)
    func `whatever the peer does, a request ends once and is sent at most once`(
        seed: UInt64
    ) throws {
        var adversary = Adversary(seed: seed)
        let besieged = try BesiegedClient(settings: [0, 3, 0, 0, 0, 8])
        for _ in 0..<60 where !besieged.server.client.isClosed {
            switch adversary.number(0...9) {
            case 0...4: try besieged.submit(bodyByteCount: adversary.number(0...900))
            case 5: try besieged.cancel(adversary.number(0...99))
            case 6: try besieged.ping()
            case 7 where adversary.strikes(oneIn: 20): try besieged.shutdown()
            default:
                let count = Int(besieged.submittedCount)
                try besieged.suffer(adversary.bytes(streamCount: count))
            }
        }
        #expect(besieged.contradictions() == [])
    }

    @Test func `the adversary still answers some requests`() throws {
        var answered = 0
        var failed = 0
        for seed in UInt64(0)..<50 {
            var adversary = Adversary(seed: seed)
            let besieged = try BesiegedClient(settings: [0, 3, 0, 0, 0, 8])
            for _ in 0..<20 where !besieged.server.client.isClosed {
                try besieged.submit(bodyByteCount: 10)
                try besieged.suffer(adversary.bytes(streamCount: Int(besieged.submittedCount)))
            }
            for event in besieged.server.events {
                if case .responseArrived = event { answered += 1 }
                if case .streamFailed = event { failed += 1 }
            }
        }
        #expect(answered > 50)
        #expect(failed > 50)
    }
}
