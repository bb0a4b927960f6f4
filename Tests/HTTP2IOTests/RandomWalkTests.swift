import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// Both sides act within the protocol, in an order determined by a seed.
@Suite struct RandomWalkTests {
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    /// How each tag ended.
    private struct Books {
        var open: Set<UInt64> = []
        var cancelled: Set<UInt64> = []
        var ended: [UInt64: Int] = [:]

        mutating func end(_ tag: UInt64) {
            ended[tag, default: 0] += 1
            open.remove(tag)
        }
    }

    private final class Walk {
        var generator: Generator
        let pair: Pair
        var books = Books()
        var nextTag: UInt64 = 0
        var waiting: [Int32] = []

        init(seed: UInt64) throws {
            generator = Generator(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
            pair = try Pair.opened(settings: [.maxConcurrentStreams(8), .initialWindowSize(300)])
        }

        func step() throws {
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<4: try submit()
            case 4:
                if let tag = books.open.sorted().randomElement(using: &generator),
                    pair.client.cancel(tag)
                {
                    books.open.remove(tag)
                    books.cancelled.insert(tag)
                }
            case 5...6: respond()
            case 7: reset()
            case 8:
                pair.server.submitSettings([
                    .maxConcurrentStreams(.random(in: 1...12, using: &generator))
                ])
            default: carry()
            }
        }

        func carry() {
            if Bool.random(using: &generator) { pair.carryToServer() }
            if Bool.random(using: &generator) { pair.carryToClient() }
            note()
        }

        func note() {
            for event in pair.clientEvents {
                switch event {
                case .responseArrived(let tag, _), .streamFailed(let tag, _): books.end(tag)
                case .opened, .streamLimitChanged, .goAwayReceived, .pingAnswered, .closed: break
                }
            }
            pair.clientEvents = []
            waiting += pair.requests.map(\.streamID)
            pair.serverEvents = []
        }

        private func submit() throws {
            let body = [UInt8](repeating: 1, count: .random(in: 0...900, using: &generator))
            do throws(SubmitError) {
                try pair.client.submit(requestHeaders(), body: body, tag: nextTag)
            } catch {
                guard error == .streamLimitReached || error == .notOpen else { throw error }
                return
            }
            books.open.insert(nextTag)
            nextTag += 1
        }

        private func respond() {
            guard let index = waiting.indices.randomElement(using: &generator) else { return }
            let streamID = waiting.remove(at: index)
            let body = [UInt8](repeating: 2, count: .random(in: 0...500, using: &generator))
            pair.server.respond(streamID, status: 200, body: body)
        }

        private func reset() {
            guard let index = waiting.indices.randomElement(using: &generator) else { return }
            let code = HTTP2ErrorCode(rawValue: .random(in: 0...13, using: &generator))
            pair.server.reset(waiting.remove(at: index), errorCode: code)
        }
    }

    private enum Ending: CaseIterable {
        case answers, goAway, shutdown, close, silence
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `every request ends exactly once, and a cancelled one reports no end`(seed: UInt64) throws
    {
        let walk = try Walk(seed: seed)
        let pair = walk.pair
        for _ in 0..<300 { try walk.step() }
        let ending = Ending.allCases[Int(seed) % Ending.allCases.count]
        switch ending {
        case .answers: break
        case .goAway: pair.server.sendGoAway(lastStreamID: walk.waiting.min() ?? 1)
        case .shutdown: pair.client.shutdown()
        case .close: pair.client.close()
        case .silence: pair.client.receiveEnd()
        }
        // Responses free streams for waiting requests.
        for _ in 0..<50 {
            pair.run()
            walk.note()
            for streamID in walk.waiting { pair.server.respond(streamID, status: 200) }
            walk.waiting = []
        }
        pair.run()
        walk.note()
        #expect(walk.books.open.isEmpty)
        #expect(walk.books.ended.values.allSatisfy { $0 == 1 })
        #expect(walk.books.cancelled.isDisjoint(with: walk.books.ended.keys))
        #expect(walk.books.ended.count + walk.books.cancelled.count == Int(walk.nextTag))
        #expect(pair.client.openStreamCount == 0 || pair.client.isClosed)
        #expect(pair.client.isClosed == (ending != .answers))
    }
}
