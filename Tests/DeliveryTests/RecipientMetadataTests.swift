import Delivery
import Testing
import Vocabulary

@Suite struct RecipientMetadataTests {
    private static let partition = TopicPartition(topic: KafkaTopic("source"), partition: 3)
    private static let base: Int64 = 100

    private static func set(of count: Int, _ members: some Sequence<Int>) -> RecipientSet {
        var set = RecipientSet(of: count)
        for member in members { set.insert(member) }
        return set
    }

    private static func entry(_ offset: Int64, _ settled: RecipientSet) -> SettledRecipients {
        let record = RecordMark(offset: Offset(offset), fingerprint: 0xF00D_0000 + UInt32(offset))
        return SettledRecipients(of: record, settled)
    }

    private static func metadata(
        _ recipients: [SettledRecipients],
        incomplete: [Range<Int64>] = [],
        horizon: Int64 = base,
        isMarked: Bool = false
    ) throws -> CommitMetadata {
        let settled = SettledOffsets(
            base: Offset(base),
            incomplete: incomplete,
            horizon: Offset(horizon)
        )
        let hasEnd = isMarked && horizon > base
        return CommitMetadata(
            nonce: 0xC0FF_EE01,
            settled: try #require(settled),
            mark: isMarked ? RecordMark(offset: Offset(base - 1), fingerprint: .max) : nil,
            end: hasEnd ? RecordMark(offset: Offset(horizon - 1), fingerprint: .max) : nil,
            recipients: recipients
        )
    }

    private static func read(
        _ text: String,
        base: Int64 = base
    ) -> Result<CommitMetadata, CommitMetadata.Problem> {
        Result { () throws(CommitMetadata.Problem) in
            try CommitMetadata(text, base: Offset(base), of: partition)
        }
    }

    // MARK: Sets

    @Test(arguments: UInt64(1)...100)
    func `a set is what a set of numbers is`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let count = Int.random(in: 1...1000, using: &random)
        var (set, model) = (RecipientSet(of: count), Set<Int>())
        let other = Set((0..<count).filter { _ in Bool.random(using: &random) })
        for _ in 0..<Int.random(in: 0...2 * count, using: &random) {
            let recipient = Int.random(in: 0..<count, using: &random)
            if Bool.random(using: &random) {
                #expect(set.insert(recipient) == model.insert(recipient).inserted)
            } else {
                #expect(set.remove(recipient) == (model.remove(recipient) != nil))
            }
        }
        let otherSet = Self.set(of: count, other)
        #expect(Array(set) == model.sorted() && set.count == model.count)
        #expect(Array(set.union(otherSet)) == model.union(other).sorted())
        #expect(Array(set.subtracting(otherSet)) == model.subtracting(other).sorted())
        #expect(Array(set.complement) == Set(0..<count).subtracting(model).sorted())
        #expect(set.complement.complement == set && set.union(set.complement).isComplete)
    }

    // MARK: The text

    /// The texts are fixed, because other versions read them.
    @Test(
        arguments: [
            // Bitmaps, one of each form, with a mark and an end, and with a mark.
            (
                entries: [entry(100, set(of: 8, [0, 1]))], horizon: 100, isMarked: false,
                text: "p5DAe7_wAABAGQADfANAwDqRA8"
            ),
            (
                entries: [entry(100, set(of: 8, [1, 3, 5]))], horizon: 100, isMarked: false,
                text: "p5DAe7_wAABAGQADfANKhK_S1c"
            ),
            (
                entries: [entry(100, set(of: 2, [1])), entry(130, set(of: 1000, 500..<1000))],
                horizon: 120, isMarked: false, text: "p5DAe7_wBQCAGQADfABAh2CAA3wzA_0A_QD4Pvrtg"
            ),
            (
                entries: [entry(100, set(of: 9, [8])), entry(400, set(of: 9, [0]))], horizon: 120,
                isMarked: true, text: "p8DAe7_wP____8B_____xQCAGQADfAOCAGrApABDfAPAQDXhGP1"
            ),
            (
                entries: [entry(100, set(of: 9, [8]))], horizon: 100, isMarked: true,
                text: "p6DAe7_wP____8BAAEAZAAN8A4IAZwMKkk"
            ),
        ] as [([SettledRecipients], Int64, Bool, String)]
    )
    func `a written text reads back the same`(
        entries: [SettledRecipients],
        horizon: Int64,
        isMarked: Bool,
        text: String
    ) throws {
        let metadata = try Self.metadata(
            entries,
            incomplete: horizon > 100 ? [100..<101] : [],
            horizon: horizon,
            isMarked: isMarked
        )
        let written = metadata.text(for: Self.partition)
        #expect(written.text == text)
        #expect(written.cutAt == nil && written.droppedRecipients == 0)
        #expect(Self.read(written.text) == .success(metadata))
    }

    /// The table in the docs of `CommitMetadata`.
    @Test(
        arguments: [
            (
                settled: set(of: 1000, stride(from: 0, to: 1000, by: 2)),
                characters: [205, 1791, 3551]
            ),
            (settled: set(of: 1000, 0..<500), characters: [45, 191, 351]),
            (settled: set(of: 1000, [120, 540, 875]).complement, characters: [51, 258, 485]),
        ]
    )
    func `records of 1,000 recipients take this many characters`(
        settled: RecipientSet,
        characters: [Int]
    ) throws {
        for (count, expected) in zip([Int64(1), 10, 20], characters) {
            // The record behind them is settled.
            let end = Self.base + count
            let metadata = try Self.metadata(
                (Self.base..<end).map { Self.entry($0, settled) },
                incomplete: [Self.base..<end],
                horizon: end + 1,
                isMarked: true
            )
            let written = metadata.text(for: Self.partition)
            #expect(written.text.utf8.count == expected)
            #expect(written.droppedRecipients == 0)
            #expect(Self.read(written.text) == .success(metadata))
        }
    }

    /// All records and all offsets that a random metadata has.
    private static func draw(using random: inout SeededGenerator) throws -> CommitMetadata {
        var incomplete: [Range<Int64>] = []
        var end = base
        for _ in 0..<Int.random(in: 0...30, using: &random) {
            let next = end + Int64.random(in: 1...20, using: &random)
            incomplete.append(end..<next)
            end = next + Int64.random(in: 1...200, using: &random)
        }
        var offsets = incomplete.flatMap { Array($0) }.filter { _ in Bool.random(using: &random) }
        offsets += (0..<Int64(10)).map { end + $0 * Int64.random(in: 1...3, using: &random) }
        let entries = Set(offsets).sorted().map { offset in
            let count = Int.random(
                in: 2...(Bool.random(using: &random) ? 1000 : 12),
                using: &random
            )
            let share = Int.random(in: 1...20, using: &random)
            var set = RecipientSet(of: count)
            for recipient in 0..<count where Int.random(in: 0..<20, using: &random) < share {
                set.insert(recipient)
            }
            if set.isEmpty { set.insert(count / 2) }
            if set.isComplete { set.remove(count / 2) }
            return entry(offset, set)
        }
        return try metadata(
            entries,
            incomplete: incomplete,
            horizon: end,
            isMarked: Bool.random(using: &random)
        )
    }

    @Test(arguments: UInt64(1)...200)
    func `at any limit, the first records that fit are written whole`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let metadata = try Self.draw(using: &random)
        let all = metadata.recipients
        var last = all.count
        for limit in [4096, 3000, 2000, 1000, 700, 500, 300, 200, 100, 64, 40, 30, 24, 22, 8, 0] {
            let written = metadata.text(for: Self.partition, within: limit)
            #expect(written.text.utf8.count <= limit)
            let kept = written.text.isEmpty ? [] : try Self.read(written.text).get().recipients
            #expect(kept == Array(all.prefix(kept.count)) && kept.count <= last)
            let dropped = all.dropFirst(kept.count)
            #expect(written.droppedRecipients == dropped.reduce(0) { $0 + $1.settled.count })
            last = kept.count
            // The offsets come first: they are the same without recipients.
            let offsets = CommitMetadata(
                nonce: metadata.nonce,
                settled: metadata.settled,
                mark: metadata.mark,
                end: metadata.end
            )
            let plain = offsets.text(for: Self.partition, within: limit)
            #expect(plain.cutAt == written.cutAt && plain.droppedRecipients == 0)
            if kept.isEmpty { #expect(written.text == plain.text) }
            // One record more does not fit.
            guard let next = dropped.first, !plain.text.isEmpty else { continue }
            let more = CommitMetadata(
                nonce: metadata.nonce,
                settled: metadata.settled,
                mark: metadata.mark,
                end: metadata.end,
                recipients: kept + [next]
            )
            #expect(more.text(for: Self.partition, within: limit).droppedRecipients > 0)
        }
    }

    /// As `OffsetLedger` estimates it, with distances of two bytes.
    @Test(
        arguments: [
            (recipients: 1000, left: nil, records: 22), (1000, 3, 144), (1000, 20, 42),
            (500, nil, 42), (100, nil, 132), (10, nil, 276), (2, nil, 304),
        ] as [(Int, Int?, Int)]
    )
    func `so many records fit, whatever is settled of them`(
        recipients: Int,
        left: Int?,
        records: Int
    ) throws {
        var random = SeededGenerator(seed: UInt64(recipients))
        for share in [1, 5, 10, 19] {
            let entries = (0..<Int64(records)).map { place in
                var set = RecipientSet(allOf: recipients)
                for recipient in 0..<recipients
                where left == nil && Int.random(in: 0..<20, using: &random) < share {
                    set.remove(recipient)
                }
                while recipients - set.count < left ?? 1 {
                    set.remove(Int.random(in: 0..<recipients, using: &random))
                }
                if set.isEmpty { set.insert(recipients / 2) }
                return Self.entry(Self.base + place * 129, set)
            }
            let written = try Self.metadata(entries, isMarked: true).text(for: Self.partition)
            #expect(written.droppedRecipients == 0, "\(share)")
        }
    }

    @Test func `what is too far from the committed offset is dropped`() throws {
        let far = Self.base + CommitMetadata.maxSpan
        let set = Self.set(of: 5, [1, 2])
        let entries = [far - 2, far - 1, far].map { Self.entry($0, set) }
        let written = try Self.metadata(entries).text(for: Self.partition)
        #expect(written.droppedRecipients == 2)
        #expect(try Self.read(written.text).get().recipients == Array(entries.prefix(2)))
    }

    // MARK: Damage

    @Test func `every changed character and every truncation is detected`() throws {
        let metadata = try Self.metadata(
            [
                Self.entry(100, Self.set(of: 20, [3, 4])),
                Self.entry(300, Self.set(of: 9, [1, 3, 5])),
            ],
            incomplete: [100..<101, 110..<112],
            horizon: 200,
            isMarked: true
        )
        let text = Array(metadata.text(for: Self.partition).text.utf8)
        #expect(text[1] == UInt8(ascii: "8"))
        for place in text.indices {
            for other in UInt8(ascii: "-")...UInt8(ascii: "z") where other != text[place] {
                var changed = text
                changed[place] = other
                let answer = Self.read(String(decoding: changed, as: UTF8.self))
                #expect(throws: CommitMetadata.Problem.self) { try answer.get() }
            }
            let answer = Self.read(String(decoding: text.prefix(place), as: UTF8.self))
            #expect(throws: CommitMetadata.Problem.self) { try answer.get() }
        }
    }

    /// Each version's checksum tells it from the others.
    @Test func `a text of another version is damaged`() throws {
        let entries = [Self.entry(100, Self.set(of: 8, [0, 1]))]
        for (metadata, version) in [
            (try Self.metadata(entries), "5"), (try Self.metadata([]), "1"),
        ] {
            let text = metadata.text(for: Self.partition).text
            #expect(text.hasPrefix("p" + version))
            for other in ["1", "2", "3", "4", "5", "6", "7", "8"] where other != version {
                let answer = Self.read("p" + other + text.dropFirst(2))
                #expect(throws: CommitMetadata.Problem.self) { try answer.get() }
            }
        }
    }

    @Test func `settled recipients of a settled record are a programmer's error`() async {
        await #expect(processExitsWith: .failure) {
            guard
                let settled = SettledOffsets(
                    base: Offset(5),
                    incomplete: [5..<6],
                    horizon: Offset(9)
                )
            else { return }
            var set = RecipientSet(of: 2)
            set.insert(0)
            let record = RecordMark(offset: Offset(7), fingerprint: 1)
            let recipients = [SettledRecipients(of: record, set)]
            _ = CommitMetadata(nonce: 1, settled: settled, recipients: recipients)
        }
    }
}
