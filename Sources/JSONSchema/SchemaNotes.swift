/// What the messages of findings need.
struct SchemaNotes: Sendable {
    /// The keyword of each instruction, as one or two reference tokens below its node; empty where
    /// the instruction has several.
    var keywords: [String] = []
    /// What `const` and `enum` ask for, by instruction.
    var literals: [Int: String] = [:]
    /// The keywords of an item rule: for the first items, and for the others.
    var itemKeywords: [(prefix: String, rest: String)] = []
    /// Every property that a schema names, and its node.
    var propertyNodes: [(name: String, node: Int32)] = []
    /// Nodes whose values' sizes are not shown either.
    var secretNodes: Set<Int32> = []
    /// What the values of a node are meant to be, where its schema says so.
    var forms: [Int32: ValueForm] = [:]
    /// Members whose values' sizes are not shown either, wherever they are.
    private(set) var secretNames: Set<String> = ["device_token"]

    /// Finds what `writeOnly` hides (JSON Schema Validation, 9.4): the schemas that have it, those
    /// that apply them to the same value, and the members that they describe.
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
