import EventSchema
import JSON
import Testing

/// What the official suite asks of both drafts.
@Suite(.enabled(if: SchemaSuite.folder != nil))
struct SchemaSuiteTests {
    /// A draft, as the suite's folders call it.
    static let drafts: [(folder: String, draft: SchemaDraft, caseCount: Int)] = [
        ("draft2020-12", .draft2020, 1100), ("draft7", .draft7, 800),
    ]

    @Test(arguments: drafts)
    func `every required case passes`(
        folder: String,
        draft: SchemaDraft,
        caseCount: Int
    ) throws {
        var run = try SuiteRun(draft: draft)
        try run.judge(folder, options: SchemaOptions(defaultDraft: draft))
        #expect(run.failures == [])
        #expect(run.caseCount >= caseCount)
    }
}

/// Judges cases and collects what went wrong.
struct SuiteRun {
    let suite: SchemaSuite
    let library: SchemaLibrary
    var caseCount = 0
    /// Where it went wrong: file, group, case.
    var failures: [String] = []

    init(draft: SchemaDraft) throws {
        let folder = try #require(SchemaSuite.folder)
        suite = try SchemaSuite(folder: folder)
        library = try suite.library(defaultDraft: draft)
    }

    mutating func judge(_ folder: String, options: SchemaOptions) throws {
        for group in try suite.groups(in: folder) {
            do {
                let schema = try Schema(text: group.schema, library: library, options: options)
                for (name, value, isValid) in group.cases {
                    caseCount += 1
                    var document = JSONDocument()
                    try document.parse(value)
                    let isAdmitted = schema.admits(document, document.root)
                    let violations = schema.violations(in: document, document.root)
                    if isAdmitted != isValid { failures.append("\(group.name) | \(name)") }
                    if isAdmitted != violations.isEmpty {
                        failures.append("\(group.name) | \(name): violations disagree")
                    }
                }
            } catch {
                failures.append("\(group.name): \(error)")
            }
        }
    }
}
