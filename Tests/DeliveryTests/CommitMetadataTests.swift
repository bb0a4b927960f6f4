import Delivery
import Testing
import Vocabulary

@Suite struct CommitMetadataTests {
    private static let partition = TopicPartition(topic: KafkaTopic("source"), partition: 3)

    private static func metadata(
        base: Int64,
        _ incomplete: [Range<Int64>],
        horizon: Int64,
        nonce: UInt32 = 0xC0FF_EE01,
        mark: RecordMark? = nil,
        end fingerprint: UInt32? = nil
    ) throws -> CommitMetadata {
        let settled = SettledOffsets(
            base: Offset(base),
            incomplete: incomplete,
            horizon: Offset(horizon)
        )
        let end = fingerprint.map {
            RecordMark(offset: Offset(horizon - 1), fingerprint: $0)
        }
        return CommitMetadata(nonce: nonce, settled: try #require(settled), mark: mark, end: end)
    }

    private static func read(
        _ text: String,
        base: Int64,
        of partition: TopicPartition = partition
    ) -> Result<CommitMetadata, CommitMetadata.Problem> {
        Result { () throws(CommitMetadata.Problem) in
            try CommitMetadata(text, base: Offset(base), of: partition)
        }
    }

    /// A broker may take less than Kafka's default (`offset.metadata.max.bytes`).
    @Test(arguments: [4096, 300, 64, 28, 27, 24, 22, 8, 0], [nil, 7] as [UInt32?])
    func `the text fits the broker's limit`(limit: Int, end: UInt32?) throws {
        let incomplete: [Range<Int64>] = (0..<400).map { 100 + $0 * 7..<101 + $0 * 7 }
        let metadata = try Self.metadata(base: 100, incomplete, horizon: 3000, end: end)
        let written = metadata.text(for: Self.partition, within: limit)
        #expect(written.text.utf8.count <= limit)
        guard !written.text.isEmpty else {
            // Nothing ever fits, so there is nothing to wait for.
            return #expect(written.cutAt == nil && limit < 24)
        }
        #expect((written.cutAt != nil) == (limit < 4096))
        let read = try Self.read(written.text, base: 100).get()
        #expect(read.settled.horizon <= metadata.settled.horizon)
        #expect(read.end == (written.cutAt == nil ? metadata.end : nil))
        #expect(written.cutAt.map { $0 == read.settled.horizon } ?? true)
    }

    /// The shortest of the three codecs is used.
    ///
    /// The texts are fixed, because other versions read them.
    @Test(
        arguments: [
            (incomplete: [], horizon: 100, text: "p1DAe7_wAA3wE-E"),
            (incomplete: [100..<101], horizon: 102, text: "p1DAe7_wALAsHRl"),
            (incomplete: [100..<101, 105..<106], horizon: 900, text: "p1D"),
            (incomplete: [100..<1600], horizon: 1601, text: "p1R"),
            (
                incomplete: (0..<400).map { 100 + $0 * 2..<101 + $0 * 2 },
                horizon: 900,
                text: "p1B"
            ),
        ] as [(incomplete: [Range<Int64>], horizon: Int64, text: String)]
    )
    func `a written text reads back the same`(
        incomplete: [Range<Int64>],
        horizon: Int64,
        text: String
    ) throws {
        let metadata = try Self.metadata(base: 100, incomplete, horizon: horizon)
        let written = metadata.text(for: Self.partition)
        #expect(written.cutAt == nil)
        #expect(written.text.hasPrefix(text))
        #expect(Self.read(written.text, base: 100) == .success(metadata))
    }

    @Test(arguments: [
        ("", CommitMetadata.Problem.foreign),
        ("offset committed by a script", .foreign),
        ("p1", .foreign),
        ("p9DAe7_wAAAAAAA", .foreign),
        ("p0DAe7_wAAAAAAA", .foreign),
        // An end, and nothing that would have one.
        ("p3DAe7_wA3w_soAIV7TLg", .notCanonical),
        ("p2D", .malformed),
        ("p1XAe7_wAAAAAAA", .foreign),
        ("p1D", .malformed),
        ("p1DAe7_wA", .malformed),
        ("p1DAe7/wABFL8aw", .malformed),
        ("p1DAe7_wAAAAAAA", .checksum),
        ("p1D\u{e9}", .malformed),
        (String(repeating: "p", count: 4097), .tooLong),
    ])
    func `foreign metadata is ignored`(text: String, problem: CommitMetadata.Problem) {
        #expect(Self.read(text, base: 100) == .failure(problem))
    }

    /// The text is fixed, because other versions read it.
    @Test func `the text names the record before the committed offset`() throws {
        let mark = RecordMark(offset: Offset(97), fingerprint: 0xDEAD_BEEF)
        let metadata = try Self.metadata(base: 100, [], horizon: 100, mark: mark)
        let text = metadata.text(for: Self.partition).text
        #expect(text == "p2DAe7_wO--rd4DAJzB21Q")
        #expect(Self.read(text, base: 100) == .success(metadata))
        // One from so far back is not: it costs more than it says.
        let far = RecordMark(offset: Offset(0), fingerprint: 1)
        let left = try Self.metadata(base: 1 << 21, [], horizon: 1 << 21, mark: far)
        #expect(left.mark == nil)
    }

    /// The texts are pinned, since other versions read them.
    @Test(
        arguments: [
            (mark: nil, text: "p3DAe7_wA3w_soC1i7ozw"),
            (
                mark: RecordMark(offset: Offset(97), fingerprint: 0xDEAD_BEEF),
                text: "p4DAe7_wO--rd4DDfD-ygLMABUi"
            ),
        ] as [(RecordMark?, String)]
    )
    func `the last settled record is named`(mark: RecordMark?, text: String) throws {
        let metadata = try Self.metadata(
            base: 100,
            [100..<101],
            horizon: 102,
            mark: mark,
            end: 0xCAFE_F00D
        )
        #expect(metadata.text(for: Self.partition).text == text)
        let read = try Self.read(text, base: 100).get()
        #expect(read == metadata)
        #expect(read.end == RecordMark(offset: Offset(101), fingerprint: 0xCAFE_F00D))
    }

    @Test func `a text is invalid at another offset, partition or topic`() throws {
        let metadata = try Self.metadata(base: 100, [100..<101], horizon: 200)
        let text = metadata.text(for: Self.partition).text
        #expect(Self.read(text, base: 101) == .failure(.checksum))
        let others = [
            TopicPartition(topic: KafkaTopic("source"), partition: 4),
            TopicPartition(topic: KafkaTopic("sources"), partition: 3),
        ]
        for other in others {
            #expect(Self.read(text, base: 100, of: other) == .failure(.checksum))
        }
    }

    @Test func `every changed character is detected`() throws {
        let metadata = try Self.metadata(base: 7, [7..<9, 12..<40], horizon: 300, end: 5)
        let text = Array(metadata.text(for: Self.partition).text.utf8)
        for place in text.indices {
            for other in UInt8(ascii: "-")...UInt8(ascii: "z") where other != text[place] {
                var changed = text
                changed[place] = other
                let answer = Self.read(String(decoding: changed, as: UTF8.self), base: 7)
                #expect(throws: CommitMetadata.Problem.self) { try answer.get() }
            }
        }
    }

    @Test func `every truncation is detected`() throws {
        let metadata = try Self.metadata(base: 7, [7..<9, 12..<40], horizon: 300, end: 5)
        let text = metadata.text(for: Self.partition).text
        for count in 0..<text.count {
            let answer = Self.read(String(text.prefix(count)), base: 7)
            #expect(throws: CommitMetadata.Problem.self) { try answer.get() }
        }
    }

    // MARK: Random ledgers

    /// A set of settled offsets with `incompletes` others, drawn from `random`.
    private static func draw(
        base: Int64,
        incompletes: Int,
        maxGap: Int64,
        using random: inout SeededGenerator
    ) -> SettledOffsets {
        var runs: [Range<Int64>] = []
        var place = base
        for _ in 0..<incompletes {
            if let last = runs.last, last.upperBound == place {
                runs[runs.count - 1] = last.lowerBound..<place + 1
            } else {
                runs.append(place..<place + 1)
            }
            place += 1 + Int64.random(in: 0...maxGap, using: &random)
        }
        let horizon = max(place, (runs.last?.upperBound ?? base) + 1)
        return SettledOffsets(base: Offset(base), incomplete: runs, horizon: Offset(horizon))
            ?? SettledOffsets(base: Offset(base))
    }

    @Test(arguments: UInt64(1)...200)
    func `random ledgers read back the same`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let settled = Self.draw(
            base: Int64.random(in: 0...1 << 40, using: &random),
            incompletes: Int.random(in: 1...1400, using: &random),
            maxGap: Int64.random(in: 0...1400, using: &random),
            using: &random
        )
        let mark =
            settled.base.rawValue == 0
            ? nil
            : RecordMark(
                offset: Offset(settled.base.rawValue - min(settled.base.rawValue, 1 << 20)),
                fingerprint: UInt32.random(in: 0 ... .max, using: &random)
            )
        let end = RecordMark(
            offset: Offset(settled.horizon.rawValue - 1),
            fingerprint: UInt32.random(in: 0 ... .max, using: &random)
        )
        let metadata = CommitMetadata(
            nonce: UInt32(seed),
            settled: settled,
            mark: mark,
            end: seed % 3 == 0 ? nil : end
        )
        let written = metadata.text(for: Self.partition)
        #expect(written.cutAt == nil)
        #expect(written.text.utf8.count <= CommitMetadata.maxCharacters)
        #expect(Self.read(written.text, base: settled.base.rawValue) == .success(metadata))
    }

    private static let farBase: Int64 = 1 << 30

    /// With the records that take most room; `runs` and `horizon` are counted from `farBase`.
    private static func metadataWithFarMark(
        _ runs: [Range<Int64>],
        horizon: Int64
    ) throws -> CommitMetadata {
        let mark = RecordMark(
            offset: Offset(farBase - CommitMetadata.maxSpan + 1),
            fingerprint: .max
        )
        let moved = runs.map { farBase + $0.lowerBound..<farBase + $0.upperBound }
        return try metadata(
            base: farBase,
            moved,
            horizon: farBase + horizon,
            mark: mark,
            end: .max
        )
    }

    /// 1,400 incomplete offsets with the gaps that cost codec D most.
    ///
    /// All take two bytes, and as many three as a span has room for.
    @Test func `1,400 incomplete offsets always fit`() throws {
        for gap in [Int64(1), 127, 128, 200, 1000, 1400] {
            var runs = [Range<Int64>(0...0)]
            var place: Int64 = 1
            var wideGaps = (CommitMetadata.maxSpan - 1400 * (gap + 1)) / 16_384 - 1
            while runs.count < CommitMetadata.incompletesThatFit {
                let distance = wideGaps > 0 ? 16_384 + gap : gap
                wideGaps -= 1
                runs.append(place + distance..<place + distance + 1)
                place += distance + 1
                if place >= CommitMetadata.maxSpan - 2 { break }
            }
            let metadata = try Self.metadataWithFarMark(runs, horizon: place + 1)
            let written = metadata.text(for: Self.partition)
            #expect(written.cutAt == nil, "gap \(gap), \(runs.count) runs")
            #expect(Self.read(written.text, base: Self.farBase) == .success(metadata))
        }
    }

    @Test(arguments: UInt64(1)...20)
    func `24,300 offsets fit in any pattern`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var runs: [Range<Int64>] = [0..<1]
        for offset in 1..<CommitMetadata.offsetsThatFit - 1 where Bool.random(using: &random) {
            if runs[runs.count - 1].upperBound == offset {
                runs[runs.count - 1] = runs[runs.count - 1].lowerBound..<offset + 1
            } else {
                runs.append(offset..<offset + 1)
            }
        }
        let metadata = try Self.metadataWithFarMark(runs, horizon: CommitMetadata.offsetsThatFit)
        let written = metadata.text(for: Self.partition)
        #expect(written.cutAt == nil)
        #expect(Self.read(written.text, base: Self.farBase) == .success(metadata))
    }

    @Test(arguments: UInt64(1)...100)
    func `a text that does not fit is cut at the far end, and no unsettled offset looks settled`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        let settled = Self.draw(
            base: 1000,
            incompletes: Int.random(in: 5000...9000, using: &random),
            maxGap: Int64.random(in: 100...2000, using: &random),
            using: &random
        )
        let written = CommitMetadata(nonce: 1, settled: settled).text(for: Self.partition)
        #expect(written.cutAt != nil)
        #expect(written.text.utf8.count <= CommitMetadata.maxCharacters)
        let read = try Self.read(written.text, base: 1000).get().settled
        #expect(read.horizon < settled.horizon)
        #expect(read.span > 24_000)
        // The same runs, as far as they fit.
        #expect(settled.incomplete.starts(with: read.incomplete))
        let next = settled.incomplete[read.incomplete.count].lowerBound
        #expect(read.horizon.rawValue <= next)
    }

    @Test(arguments: UInt64(1)...200)
    func `damage never makes an unsettled offset look settled`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let settled = Self.draw(base: 50, incompletes: 40, maxGap: 30, using: &random)
        let metadata = CommitMetadata(nonce: 9, settled: settled)
        let text = Array(metadata.text(for: Self.partition).text.utf8)
        for _ in 0..<50 {
            var damaged = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: damaged.indices, using: &random)
                damaged[place] ^= 1 << UInt8.random(in: 0..<7, using: &random)
            }
            guard damaged != text else { continue }
            let answer = Self.read(String(decoding: damaged, as: UTF8.self), base: 50)
            guard case .success(let read) = answer else { continue }
            for run in settled.incomplete {
                for offset in run { #expect(!read.settled.isSettled(Offset(offset))) }
            }
        }
    }
}
