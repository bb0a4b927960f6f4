import Log
import Testing
import Vocabulary

@Suite struct LineDigestTests {
    private typealias Digest = LineDigest<String>

    private static func second(_ number: Int64) -> Instant {
        Instant(nanoseconds: number * 1_000_000_000)
    }

    /// The lines written of lines that arrive once a second, with `-` for those only counted.
    private static func told(
        _ digest: inout Digest,
        _ lines: [String],
        from start: Int64 = 0
    ) -> String {
        lines.enumerated().map { index, line in
            let now = second(start + Int64(index))
            return digest.admits(line, of: Digest.Kind(line), now: now) ? line : "-"
        }.joined()
    }

    private static func texts(_ summaries: [Digest.Summary]) -> [String] {
        summaries.map {
            let seconds = $0.duration.components.seconds
            return "\($0.count) \($0.last) in \(seconds) s\($0.isMixed ? ", mixed" : "")"
        }
    }

    @Test func `the first lines of a kind are written, the others counted`() {
        var digest = Digest(window: .seconds(60), burst: 3)
        #expect(Self.told(&digest, ["a", "a", "b", "a", "a", "b", "b", "b", "a"]) == "aaba-bb--")
        #expect(digest.takeSummaries(now: Self.second(59)).isEmpty)
        #expect(Self.texts(digest.takeSummaries(now: Self.second(60))) == ["2 a in 60 s"])
        #expect(Self.texts(digest.takeSummaries(now: Self.second(62))) == ["1 b in 60 s"])
    }

    @Test func `a line about another subject is another kind`() {
        var digest = Digest(burst: 1)
        for (subject, isTold) in [("x", true), ("y", true), ("x", false)] {
            let kind = Digest.Kind("a", about: [subject])
            #expect(digest.admits("a", of: kind, now: Self.second(0)) == isTold)
        }
    }

    @Test func `a repeated line is summarized once per window`() {
        var digest = Digest(window: .seconds(60), burst: 1)
        _ = Self.told(&digest, ["a", "a"])
        #expect(Self.texts(digest.takeSummaries(now: Self.second(60))) == ["1 a in 60 s"])
        #expect(Self.told(&digest, ["a", "a"], from: 61) == "--")
        #expect(digest.takeSummaries(now: Self.second(119)).isEmpty)
        #expect(Self.texts(digest.takeSummaries(now: Self.second(120))) == ["2 a in 60 s"])
        // After a quiet window the kind is forgotten, and its next line is written.
        #expect(digest.takeSummaries(now: Self.second(180)).isEmpty)
        #expect(Self.told(&digest, ["a", "a"], from: 181) == "a-")
    }

    @Test func `a single line makes no summary`() {
        var digest = Digest(window: .seconds(60), burst: 3)
        #expect(Self.told(&digest, ["a"]) == "a")
        #expect(digest.takeSummaries(now: Self.second(1000)).isEmpty)
        #expect(Self.told(&digest, ["a", "a", "a", "a"], from: 1001) == "aaa-")
    }

    @Test func `a late summary covers the time that has passed`() {
        var digest = Digest(window: .seconds(60), burst: 1)
        _ = Self.told(&digest, ["a", "a"])
        #expect(Self.texts(digest.takeSummaries(now: Self.second(150))) == ["1 a in 150 s"])
    }

    @Test func `a summary has the latest of the counted lines`() {
        var digest = LineDigest<Int>(window: .seconds(60), burst: 1)
        let kind = LineDigest<Int>.Kind("a")
        for number in 1...5 { _ = digest.admits(number, of: kind, now: Self.second(0)) }
        let summaries = digest.takeSummaries(now: Self.second(60))
        #expect(summaries.map(\.last) == [5])
        #expect(summaries.map(\.count) == [4])
    }

    @Test func `kinds beyond the limit are counted together`() {
        var digest = Digest(window: .seconds(60), burst: 2, maxKinds: 2)
        #expect(Self.told(&digest, ["a", "b", "c", "d", "a", "c"]) == "ab--a-")
        let summaries = digest.takeSummaries(now: Self.second(62))
        #expect(Self.texts(summaries) == ["3 c in 60 s, mixed"])
        // The other kinds are forgotten by now, so there is room again.
        #expect(Self.told(&digest, ["c", "d"], from: 70) == "cd")
    }

    @Test func `at the end, all counted lines are summarized in order`() {
        var digest = Digest(window: .seconds(60), burst: 1)
        let kinds = (0..<20).map { "k\($0)" }
        _ = Self.told(&digest, kinds)
        _ = Self.told(&digest, kinds.reversed(), from: 20)
        let texts = Self.texts(digest.takeAll(now: Self.second(40)))
        #expect(texts == kinds.enumerated().map { "1 \($1) in \(40 - $0) s" })
        #expect(digest.takeAll(now: Self.second(41)).isEmpty)
    }
}
