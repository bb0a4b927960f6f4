import APNsRules
import Testing
import Vocabulary

#if canImport(Glibc)
import Glibc
#endif

@Suite struct ReasonTableTests {
    @Test func `every reason has a row`() {
        let rows = RequestKind.allCases.flatMap(ReasonTable.rows(of:))
        #expect(Set(rows.compactMap(\.reason)) == Set(APNsReason.allCases))
    }

    @Test(arguments: RequestKind.allCases)
    func `each reason has at most one row, with all texts`(kind: RequestKind) {
        let rows = ReasonTable.rows(of: kind)
        #expect(Set(rows.compactMap(\.reason)).count == rows.compactMap(\.reason).count)
        for row in rows {
            #expect(row.explanation.hasSuffix("."))
            #expect(row.remedy.hasSuffix("."))
            #expect(!row.explanation.contains("|") && !row.remedy.contains("|"))
        }
    }

    @Test(arguments: [
        ("Unregistered", 1), ("unregistered", 1), ("BADENVIRONMENTKEYIDINTOKEN", 1),
        ("BadEnvironmentKeyInToken", 1), ("429", 4), ("503", 3), ("Nonsense", 0),
    ])
    func `explain finds rows by reason or status`(text: String, count: Int) {
        #expect(ReasonTable.rows(matching: text).count == count)
    }

    @Test(arguments: [
        ("ChannelNotRegistered", 1), ("badchannelid", 1), ("Service Unavailable", 1),
        ("BadDeviceToken", 0), ("Unregistered", 0), ("429", 4), ("410", 2),
    ])
    func `explain finds the rows about broadcasts`(text: String, count: Int) {
        #expect(ReasonTable.rows(matching: text, kind: .broadcast).count == count)
    }

    @Test func `no text about a broadcast mentions a retry topic`() {
        let kinds = Set(ReasonTable.broadcastRows.map(\.verdict.disposition))
        #expect(kinds.contains(.retryHere) && kinds.contains(.parkCredential))
        for kind in kinds {
            #expect(!kind.broadcastMeaning.contains("retry topic"))
            // The service only applies final dispositions to requests about channels.
            #expect((kind.outcome == nil) == kind.isOtherForBroadcasts)
        }
    }

    @Test(arguments: RequestKind.allCases, 200...599)
    func `an answer without a reason ends no event and changes no token`(
        kind: RequestKind,
        status: Int
    ) {
        let verdict = Verdict.classify(status: status, reason: nil, kind: kind)
        let isAccepted = (200...299).contains(status)
        #expect(verdict.disposition.outcome == (isAccepted ? .accepted : nil))
        #expect(verdict.tokenAction == .keep)
        #expect([.nobody, .connection, .server].contains(verdict.fault))
    }

    /// After a change of the table: `HELIOGRAPH_WRITE_DOCS=1 swift test --filter ReasonTableTests`.
    @Test func `docs/reasons.md matches the table`() throws {
        let path =
            #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
            + "/docs/reasons.md"
        if unsafe getenv("HELIOGRAPH_WRITE_DOCS") != nil {
            try write(ReasonTable.markdown, to: path)
        }
        #expect(try contents(of: path) == ReasonTable.markdown)
    }

    private struct FileError: Error {
        var path: String
        var code: Int32
    }

    private func contents(of path: String) throws -> String {
        guard let file = unsafe fopen(path, "r") else { throw FileError(path: path, code: errno) }
        defer { unsafe _ = fclose(file) }
        var text: [UInt8] = []
        while case let byte = unsafe fgetc(file), byte != EOF { text.append(UInt8(byte)) }
        return String(decoding: text, as: UTF8.self)
    }

    private func write(_ text: String, to path: String) throws {
        guard let file = unsafe fopen(path, "w") else { throw FileError(path: path, code: errno) }
        defer { unsafe _ = fclose(file) }
        for byte in text.utf8 { unsafe _ = fputc(Int32(byte), file) }
    }
}
