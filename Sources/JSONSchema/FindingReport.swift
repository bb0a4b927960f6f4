public import JSON

/// A limited list of findings; several schemas may add to the same one.
public struct FindingReport: Sendable {
    static let maxByteCount = 4096
    /// Room for the sentence that reports how many findings were left out.
    private static let reservedByteCount = 96

    /// The text before the `#` in keyword locations that are added; nil: no text and no `#`.
    public var schemaName: String?
    private let maxCount: Int
    /// The search ends once this many findings did not fit.
    private let maxLeftOutCount: Int
    /// The JSON Pointer for what is said about all findings.
    private let place: String
    private var findings: [SchemaFinding] = []
    private var byteCount = 0
    private var leftOutCount = 0

    /// Makes a report about a document.
    public init() {
        maxCount = 20
        maxLeftOutCount = 1000
        place = ""
    }

    /// Makes a shorter report about one of many values, each of which has its own.
    ///
    /// - Parameter place: The value's JSON Pointer.
    init(ofItemAt place: String) {
        maxCount = 3
        maxLeftOutCount = 20
        self.place = place
    }

    /// Whether searching further would change nothing.
    var isComplete: Bool { leftOutCount >= maxLeftOutCount }

    /// Whether to describe the next finding: once one was left out, all later ones are too.
    var hasRoom: Bool { leftOutCount == 0 && findings.count < maxCount }

    mutating func leaveOut() { leftOutCount += 1 }

    mutating func add(_ finding: SchemaFinding) {
        let limit = Self.maxByteCount - Self.reservedByteCount
        let finding = named(finding)
        if hasRoom, byteCount + finding.byteCount <= limit { return keep(finding) }
        // There is always one finding: if the first is too long, it is kept without its locations.
        if findings.isEmpty { return keep(named(unplaced)) }
        leaveOut()
    }

    /// Adds the finding that an object has a repeated name.
    ///
    /// JSON readers differ in which value they use, so no rule for either value can be relied on.
    ///
    /// - Parameters:
    ///   - value: The second value, as found by `repeatedMember`.
    ///   - document: The document.
    public mutating func add(repeated value: JSONNode, in document: JSONDocument) {
        add(
            SchemaFinding(
                instanceLocation: document.pointer(to: value),
                keywordLocation: "",
                message: Self.repeatedName
            )
        )
    }

    /// The message about a repeated name.
    public static let repeatedName = "the name appears twice in its object"

    /// Adds the schema's name to the keyword location.
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

    /// The findings; the last one reports how many were left out.
    public consuming func finished() -> [SchemaFinding] {
        guard leftOutCount > 0 else { return findings }
        if findings.count == maxCount {
            findings.removeLast()
            leftOutCount += 1
        }
        let count = isComplete ? "\(maxLeftOutCount) or more" : "\(leftOutCount)"
        let noun = leftOutCount == 1 ? "violation is" : "violations are"
        let message = "\(count) further \(noun) left out"
        findings.append(
            SchemaFinding(instanceLocation: place, keywordLocation: "", message: message)
        )
        return findings
    }

    private var unplaced: SchemaFinding {
        SchemaFinding(
            instanceLocation: place,
            keywordLocation: "",
            message: "a rule is broken at a place too long to show"
        )
    }
}

extension SchemaFinding {
    fileprivate var byteCount: Int {
        instanceLocation.utf8.count + keywordLocation.utf8.count + message.utf8.count
    }
}
