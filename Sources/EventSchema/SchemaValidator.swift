package import JSON
package import Vocabulary

extension Schema {
    /// Whether the document keeps to the schema; allocates nothing.
    package func admits(_ document: borrowing JSONDocument, _ node: JSONNode) -> Bool {
        var report = ViolationReport(isCollecting: false)
        return check(0, node, document, &report)
    }

    /// What is wrong with a document: at most 20 violations and 4 KB of text.
    ///
    /// Messages repeat the schema, never the document.
    package func violations(
        in document: borrowing JSONDocument,
        _ node: JSONNode
    ) -> [Violation] {
        var report = ViolationReport(isCollecting: true)
        _ = check(0, node, document, &report)
        return report.violations
    }

    /// Checks a value against a subschema; when not collecting, it stops at the first failure.
    func check(
        _ index: Int,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        guard report.depth < ViolationReport.maxDepth else {
            return report.fail(node, document, "the schema refers to itself without end")
        }
        report.depth += 1
        defer { report.depth -= 1 }
        var isValid = true
        for position in nodes[index].keywords {
            let holds = checkKeyword(position, node, document, &report)
            if holds { continue }
            guard report.isCollecting else { return false }
            isValid = false
        }
        return isValid
    }

    private func checkKeyword(
        _ position: Int,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        // An else and a then have their own place; the condition itself never fails.
        if case .condition(let test, let then, let otherwise) = keywords[position].rule {
            let holds = quietly(&report) { check(test, node, document, &$0) }
            guard let branch = holds ? then : otherwise else { return true }
            return report.within(holds ? "then" : "else") {
                check(branch, node, document, &$0)
            }
        }
        guard report.isCollecting else {
            return checkRule(keywords[position].rule, node, document, &report)
        }
        return report.within(keywords[position].name) {
            checkRule(keywords[position].rule, node, document, &$0)
        }
    }

    private func checkRule(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        switch rule {
        case .allOf, .anyOf, .oneOf, .not, .reference, .condition:
            return checkLogic(rule, node, document, &report)
        case .properties, .patternProperties, .additionalProperties, .propertyNames, .required,
            .dependentRequired, .minProperties, .maxProperties:
            guard node.kind == .object else { return true }
            return checkObject(rule, node, document, &report)
        case .prefixItems, .items, .contains, .uniqueItems, .minItems, .maxItems:
            guard node.kind == .array else { return true }
            return checkArray(rule, node, document, &report)
        case .never, .type, .enumeration, .minLength, .maxLength, .maxBytes, .pattern, .format,
            .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
            guard let complaint = complaint(rule, node, document) else { return true }
            return report.isCollecting ? report.fail(node, document, complaint.text) : false
        }
    }

    private func quietly(
        _ report: inout ViolationReport,
        _ body: (inout ViolationReport) -> Bool
    ) -> Bool {
        let wasCollecting = report.isCollecting
        report.isCollecting = false
        defer { report.isCollecting = wasCollecting }
        return body(&report)
    }

    private func checkLogic(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        switch rule {
        case .reference(let target):
            return check(target, node, document, &report)
        case .not(let target):
            if !quietly(&report, { check(target, node, document, &$0) }) { return true }
            return report.fail(node, document, "is what the schema rules out")
        case .allOf(let branches):
            var isValid = true
            for (index, branch) in branches.enumerated() {
                let holds = report.within(index) { check(branch, node, document, &$0) }
                if !holds { isValid = false }
                if !isValid, !report.isCollecting { return false }
            }
            return isValid
        case .anyOf(let branches):
            for branch in branches {
                if quietly(&report, { check(branch, node, document, &$0) }) { return true }
            }
            return noBranch(branches, node, document, &report)
        case .oneOf(let branches):
            var matches = 0
            for branch in branches {
                if quietly(&report, { check(branch, node, document, &$0) }) { matches += 1 }
            }
            if matches == 1 { return true }
            if matches == 0 { return noBranch(branches, node, document, &report) }
            return report.fail(node, document, "matches more than one of the alternatives")
        default: return true
        }
    }

    private func noBranch(
        _ branches: [Int],
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        guard report.isCollecting else { return false }
        _ = report.fail(node, document, "matches none of the alternatives")
        for (index, branch) in branches.enumerated() {
            _ = report.within(index) { check(branch, node, document, &$0) }
        }
        return false
    }
}

/// The violations found so far, and where in the schema the check stands.
struct ViolationReport {
    static let maxDepth = 200
    static let maxCount = 20
    static let maxByteCount = 4096

    var isCollecting: Bool
    var depth = 0
    private(set) var violations: [Violation] = []
    private var path: [String] = []
    private var byteCount = 0

    init(isCollecting: Bool) {
        self.isCollecting = isCollecting
    }

    /// Does something one reference token further down; the token matters when collecting only.
    mutating func within(
        _ token: String,
        _ body: (inout ViolationReport) -> Bool
    ) -> Bool {
        guard isCollecting else { return body(&self) }
        path.append(JSONPointer.escaped(token))
        defer { path.removeLast() }
        return body(&self)
    }

    mutating func within(_ index: Int, _ body: (inout ViolationReport) -> Bool) -> Bool {
        guard isCollecting else { return body(&self) }
        return within("\(index)", body)
    }

    /// Notes a violation if there is room, and returns false.
    mutating func fail(
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ message: @autoclosure () -> String
    ) -> Bool {
        guard isCollecting, violations.count < Self.maxCount else { return false }
        let keyword = path.filter { !$0.isEmpty }.map { "/" + $0 }.joined()
        let violation = Violation(
            instanceLocation: document.pointer(to: node),
            keywordLocation: keyword,
            message: message()
        )
        let size =
            violation.instanceLocation.utf8.count + keyword.utf8.count
            + violation.message.utf8.count
        guard byteCount + size <= Self.maxByteCount else {
            // Nobody is told nothing: a first violation that is too long loses its place.
            if violations.isEmpty {
                violations.append(
                    Violation(
                        instanceLocation: "",
                        keywordLocation: keyword,
                        message: "a part whose name is too long to repeat breaks this rule"
                    )
                )
            }
            return false
        }
        byteCount += size
        violations.append(violation)
        return false
    }
}
