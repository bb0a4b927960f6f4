import JSON

extension Schema {
    func checkObject(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        switch rule {
        case .minProperties(let limit):
            return node.count >= limit
                || report.fail(node, document, "must have at least \(limit) members")
        case .maxProperties(let limit):
            return node.count <= limit
                || report.fail(node, document, "must have at most \(limit) members")
        case .required(let names):
            return checkRequired(names, node, document, &report)
        case .dependentRequired(let dependencies):
            var isValid = true
            for dependency in dependencies
            where document.member(of: node, named: dependency.name) != nil {
                let holds = report.within(dependency.name.text) {
                    checkRequired(dependency.required, node, document, &$0)
                }
                if !holds { isValid = false }
            }
            return isValid
        default:
            return checkMembers(rule, node, document, &report)
        }
    }

    private func checkRequired(
        _ names: [JSONName],
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        var isValid = true
        for name in names where document.member(of: node, named: name) == nil {
            isValid = report.fail(node, document, "'\(name.text)' is missing")
            if !report.isCollecting { return false }
        }
        return isValid
    }

    private func checkMembers(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        var isValid = true
        var cursor = document.children(of: node)
        while let (name, value) = document.nextMember(&cursor) {
            let holds: Bool
            switch rule {
            case .properties(let table, let nodes):
                guard let position = table.position(of: name, in: document) else { continue }
                holds = report.within(table.names[position].text) {
                    check(nodes[position], value, document, &$0)
                }
            case .additionalProperties(let target, let known, let patterns):
                if known.position(of: name, in: document) != nil { continue }
                if !patterns.isEmpty {
                    let text = document.content(of: name)
                    if patterns.contains(where: { $0.matches(text) }) { continue }
                }
                holds = check(target, value, document, &report)
            case .patternProperties(let properties):
                holds = checkPatterns(properties, name, value, document, &report)
            case .propertyNames(let target):
                holds = check(target, name, document, &report)
            default: return true
            }
            if !holds { isValid = false }
            if !isValid, !report.isCollecting { return false }
        }
        return isValid
    }

    private func checkPatterns(
        _ properties: [PatternProperty],
        _ name: JSONNode,
        _ value: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        let text = document.content(of: name)
        var isValid = true
        for property in properties where property.pattern.matches(text) {
            let holds = report.within(property.pattern.text) {
                check(property.node, value, document, &$0)
            }
            if !holds { isValid = false }
        }
        return isValid
    }

    func checkArray(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        switch rule {
        case .minItems(let limit):
            return node.count >= limit
                || report.fail(node, document, "must have at least \(limit) items")
        case .maxItems(let limit):
            return node.count <= limit
                || report.fail(node, document, "must have at most \(limit) items")
        case .uniqueItems:
            return hasUniqueItems(node, document)
                || report.fail(node, document, "must not have equal items")
        case .contains(let target, let count):
            var matches = 0
            var cursor = document.children(of: node)
            var quiet = ViolationReport(isCollecting: false)
            quiet.depth = report.depth
            while let item = document.nextItem(&cursor) {
                if check(target, item, document, &quiet) { matches += 1 }
            }
            return count.contains(matches)
                || report.fail(node, document, "has too few or too many matching items")
        default:
            return checkItems(rule, node, document, &report)
        }
    }

    private func checkItems(
        _ rule: Rule,
        _ node: JSONNode,
        _ document: borrowing JSONDocument,
        _ report: inout ViolationReport
    ) -> Bool {
        var isValid = true
        var position = 0
        var cursor = document.children(of: node)
        while let item = document.nextItem(&cursor) {
            defer { position += 1 }
            let holds: Bool
            switch rule {
            case .prefixItems(let targets):
                guard position < targets.count else { return isValid }
                holds = report.within(position) {
                    check(targets[position], item, document, &$0)
                }
            case .items(let target, let first):
                if position < first { continue }
                holds = check(target, item, document, &report)
            default: return true
            }
            if !holds { isValid = false }
            if !isValid, !report.isCollecting { return false }
        }
        return isValid
    }

    /// Equality is by value, so the items are made into trees; the schemas shipped need it not.
    private func hasUniqueItems(_ node: JSONNode, _ document: borrowing JSONDocument) -> Bool {
        var seen: Set<JSONValue> = []
        var cursor = document.children(of: node)
        while let item = document.nextItem(&cursor) {
            guard let value = try? document.value(of: item), seen.insert(value).inserted else {
                return false
            }
        }
        return true
    }
}
