import Vocabulary

/// The violations found so far, within what an outcome can carry.
struct ViolationReport {
    static let maxCount = 20
    static let maxByteCount = 4096
    /// The search ends when so many were found that the report has no room for.
    static let maxLeftOutCount = 1000
    /// Room for the sentence that says how many were left out.
    private static let reservedByteCount = 96

    /// What stands before the `#` in the keyword locations of what is added; nil: no `#` either.
    var schemaName: String?
    private var violations: [Violation] = []
    private var byteCount = 0
    private var leftOutCount = 0

    /// Whether looking further would change nothing.
    var isComplete: Bool { leftOutCount >= Self.maxLeftOutCount }

    /// Whether the next violation is worth its words: once one was left out, all are.
    var hasRoom: Bool { leftOutCount == 0 && violations.count < Self.maxCount }

    mutating func leaveOut() { leftOutCount += 1 }

    mutating func add(_ violation: Violation) {
        let limit = Self.maxByteCount - Self.reservedByteCount
        let violation = named(violation)
        if hasRoom, byteCount + violation.byteCount <= limit { return keep(violation) }
        // Nobody is told nothing: a first violation that is too long loses its places.
        if violations.isEmpty { return keep(named(Self.unplaced)) }
        leaveOut()
    }

    /// The schema's name counts as text: it is a file's, or a reference to the registry.
    private func named(_ violation: Violation) -> Violation {
        guard let schemaName else { return violation }
        var violation = violation
        violation.keywordLocation = "\(schemaName)#\(violation.keywordLocation)"
        return violation
    }

    private mutating func keep(_ violation: Violation) {
        violations.append(violation)
        byteCount += violation.byteCount
    }

    /// What was found; the last one says how many more there were.
    consuming func finished() -> [Violation] {
        guard leftOutCount > 0 else { return violations }
        if violations.count == Self.maxCount {
            violations.removeLast()
            leftOutCount += 1
        }
        let count = isComplete ? "\(Self.maxLeftOutCount) or more" : "\(leftOutCount)"
        let noun = leftOutCount == 1 ? "violation is" : "violations are"
        let message = "\(count) further \(noun) left out"
        violations.append(
            Violation(instanceLocation: "", keywordLocation: "", message: message)
        )
        return violations
    }

    private static let unplaced = Violation(
        instanceLocation: "",
        keywordLocation: "",
        message: "a part whose place is too long to repeat breaks a rule"
    )
}

extension Violation {
    fileprivate var byteCount: Int {
        instanceLocation.utf8.count + keywordLocation.utf8.count + message.utf8.count
    }
}
