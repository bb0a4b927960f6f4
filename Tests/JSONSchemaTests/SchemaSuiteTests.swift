import Foundation
import JSON
import JSONSchema
import Testing

/// The official suite's tests for both drafts.
@Suite(.enabled(if: SchemaSuite.folder != nil, "HELIOGRAPH_SCHEMA_SUITE names no folder"))
struct SchemaSuiteTests {
    /// A draft, by the name of its folder in the suite, and its minimum number of cases.
    struct Draft: CustomTestStringConvertible {
        let folder: String
        let draft: SchemaDraft
        let requiredCount: Int
        let optionalCount: Int
        var testDescription: String { folder }
    }

    static let drafts = [
        Draft(
            folder: "draft2020-12",
            draft: .draft2020,
            requiredCount: 1200,
            optionalCount: 500
        ),
        Draft(folder: "draft7", draft: .draft7, requiredCount: 900, optionalCount: 400),
    ]

    /// The optional files that do not pass, and why.
    static let exceptions: [String: String] = [
        "content.json": "contentEncoding and contentMediaType are annotations, as 2020-12 has it",
        "cross-draft.json": "draft 2019-09 is refused",
        "idn-hostname.json": "an annotation: it would need the tables of IDNA 2008",
        "uri-template.json": "an annotation",
    ]

    @Test(arguments: drafts)
    func `every required case passes`(draft: Draft) throws {
        var run = try SuiteRun(draft: draft.draft)
        try run.judge(draft.folder, assertsFormat: false)
        #expect(run.failures == [])
        #expect(run.caseCount >= draft.requiredCount)
    }

    @Test(arguments: drafts)
    func `every optional case passes, except known exceptions`(draft: Draft) throws {
        var run = try SuiteRun(draft: draft.draft)
        try run.judge("\(draft.folder)/optional", assertsFormat: false)
        try run.judge("\(draft.folder)/optional/format", assertsFormat: true)
        let unexpected = run.failures.filter { Self.exceptions[$0.file] == nil }
        #expect(unexpected == [])
        #expect(run.caseCount >= draft.optionalCount)
        // An exception that passes must be removed.
        let failed = Set(run.failures.map(\.file))
        let present = Self.exceptions.keys.filter(run.files.contains)
        #expect(present.filter { !failed.contains($0) } == [])
    }

    @Test func `a folder that is not a suite is an error`() {
        let folder = SchemaSuite.folder?.appending(path: "remotes")
        let error = #expect(throws: SchemaSuite.Missing.self) {
            _ = try folder.map(SchemaSuite.init)
        }
        #expect(error?.description.contains("scripts/fetch-schema-suite") == true)
    }
}

/// Runs cases and collects the failures.
struct SuiteRun {
    struct Failure: Hashable, CustomStringConvertible {
        let file: String
        let description: String
    }

    let suite: SchemaSuite
    let draft: SchemaDraft
    let library: SchemaLibrary
    private(set) var caseCount = 0
    private(set) var files: Set<String> = []
    private(set) var failures: [Failure] = []

    init(draft: SchemaDraft) throws {
        suite = try SchemaSuite(folder: #require(SchemaSuite.folder))
        library = try suite.library(defaultDraft: draft)
        self.draft = draft
    }

    mutating func judge(_ folder: String, assertsFormat: Bool) throws {
        let options = SchemaOptions(defaultDraft: draft, assertsFormat: assertsFormat)
        for group in try suite.groups(in: folder) {
            files.insert(group.file)
            do {
                let schema = try Schema(text: group.schema, library: library, options: options)
                for test in group.cases { try judge(test, of: group, by: schema) }
            } catch {
                fail(group, "\(error)")
            }
        }
    }

    private mutating func judge(
        _ test: SchemaSuite.Case,
        of group: SchemaSuite.Group,
        by schema: Schema
    ) throws {
        caseCount += 1
        var document = JSONDocument()
        try document.parse(test.value)
        let isAdmitted = schema.admits(document, document.root)
        let findings = schema.findings(in: document, document.root)
        if isAdmitted != test.isValid { fail(group, test.name) }
        if isAdmitted != findings.isEmpty { fail(group, "\(test.name): \(findings)") }
    }

    private mutating func fail(_ group: SchemaSuite.Group, _ problem: String) {
        let description = "\(group.file), \(group.name): \(problem)"
        failures.append(Failure(file: group.file, description: description))
    }
}
