/// The data needed for messages.
struct SchemaNotes: Sendable {
    /// The keyword of each instruction, as one or two reference tokens below its node.
    ///
    /// Empty if the instruction combines several keywords.
    var keywords: [String] = []
    /// The values required by `const` and `enum`, by instruction.
    var literals: [Int: String] = [:]
    /// The keywords of an item rule: for the first items, and for the rest.
    var itemKeywords: [(prefix: String, rest: String)] = []
    /// Every property that a schema names, with its node.
    var propertyNodes: [(name: String, node: Int32)] = []
    /// Nodes for secret values, of which messages do not even show the size.
    var secretNodes: Set<Int32> = []
    /// The intended form of a node's values, if its schema declares one.
    var forms: [Int32: ValueForm] = [:]
    /// Names of members with secret values, anywhere in the document.
    private(set) var secretNames: Set<String> = ["device_token"]
    /// Names of members that are arrays of secret values, of which some may be in objects.
    let secretLists: Set<String> = ["recipients"]

    /// Marks what `writeOnly` hides (JSON Schema Validation, 9.4).
    ///
    /// These are schemas with that keyword, schemas that apply them to the same value, and the
    /// members that they describe.
    mutating func hideSecrets(in builder: SchemaProgramBuilder) {
        var isGrowing = !secretNodes.isEmpty
        while isGrowing {
            let count = secretNodes.count
            for (node, entry) in builder.nodes.enumerated() {
                let instructions = builder.instructions[Int(entry.start)..<Int(entry.end)]
                let isSecret = instructions.contains {
                    $0.operation == .apply && secretNodes.contains($0.a)
                }
                if isSecret { secretNodes.insert(Int32(node)) }
            }
            isGrowing = secretNodes.count > count
        }
        for property in propertyNodes where secretNodes.contains(property.node) {
            secretNames.insert(property.name)
        }
    }
}
