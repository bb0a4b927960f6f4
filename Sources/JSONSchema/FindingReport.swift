public import JSON

/// What was found so far, within bounds; several schemas may share one.
public struct FindingReport: Sendable {
    static let maxCount = 20
    static let maxByteCount = 4096
    /// The search ends when so many were found that the report has no room for.
    static let maxLeftOutCount = 1000
    /// Room for the sentence that says how many were left out.
    private static let reservedByteCount = 96

    /// What is before the `#` in the keyword locations of what is added; nil: no `#` either.
    public var schemaName: String?
    private var findings: [SchemaFinding] = []
    private var byteCount = 0
    private var leftOutCount = 0

    public init() {}

    /// Whether looking further would change nothing.
    var isComplete: Bool { leftOutCount >= Self.maxLeftOutCount }

    /// Whether the next finding is worth its words: once one was left out, all are.
    var hasRoom: Bool { leftOutCount == 0 && findings.count < Self.maxCount }

    mutating func leaveOut() { leftOutCount += 1 }

    mutating func add(_ finding: SchemaFinding) {
        let limit = Self.maxByteCount - Self.reservedByteCount
        let finding = named(finding)
        if hasRoom, byteCount + finding.byteCount <= limit { return keep(finding) }
        // There is always a finding: a first one that is too long loses its places.
        if findings.isEmpty { return keep(named(Self.unplaced)) }
        leaveOut()
    }

    /// Adds that an object of a document has a name twice.
    ///
    /// Readers differ in which of the values they take, so that no rule for either holds.
    ///
    /// - Parameters:
    ///   - value: The second one's, as `repeatedMember` finds it.
    ///   - document: The document.
    public mutating func add(repeated value: JSONNode, in document: JSONDocument) {
        add(
            SchemaFinding(
                instanceLocation: document.pointer(to: value),
                keywordLocation: "",
                message: "the name appears twice in its object"
            )
        )
    }

    /// The schema's name counts as text: it is a file's, or a reference to the registry.
    private func named(_ finding: SchemaFinding) -> SchemaFinding {
        guard let schemaName else { return finding }
        var finding = finding
        finding.keywordLocation = "\(schemaName)#\(finding.keywordLocation)"
        return finding
    }

    private mutating func keep(_ finding: SchemaFinding) {
        findings.append(finding)
        byteCount += finding.byteCount
    }

    /// What was found; the last one says how many more there were.
    public consuming func finished() -> [SchemaFinding] {
        guard leftOutCount > 0 else { return findings }
        if findings.count == Self.maxCount {
            findings.removeLast()
            leftOutCount += 1
        }
        let count = isComplete ? "\(Self.maxLeftOutCount) or more" : "\(leftOutCount)"
        let noun = leftOutCount == 1 ? "violation is" : "violations are"
        let message = "\(count) further \(noun) left out"
        findings.append(
            SchemaFinding(instanceLocation: "", keywordLocation: "", message: message)
        )
        return findings
    }

    private static let unplaced = SchemaFinding(
        instanceLocation: "",
        keywordLocation: "",
        message: "a rule is broken at a place too long to show"
    )
}

extension SchemaFinding {
    fileprivate var byteCount: Int {
        instanceLocation.utf8.count + keywordLocation.utf8.count + message.utf8.count
    }
}
