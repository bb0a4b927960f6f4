/// Rejects a program whose recursion is not bounded by the document's depth.
struct SchemaProgramCheck {
    /// The maximum number of nested subschemas for the same value.
    static let maxChainLength = 100

    private enum State { case new, open, done }

    private let builder: SchemaProgramBuilder
    private let compiler: SchemaCompiler
    private var states: [State]
    /// The longest chain that starts at each node.
    private var lengths: [Int]

    init(builder: SchemaProgramBuilder, compiler: SchemaCompiler) {
        self.builder = builder
        self.compiler = compiler
        states = Array(repeating: .new, count: builder.nodes.count)
        lengths = Array(repeating: 0, count: builder.nodes.count)
    }

    /// Walks all chains, without recursion.
    mutating func run() throws(SchemaError) {
        for node in builder.nodes.indices where states[node] == .new {
            var path = [node]
            while let node = path.last {
                switch states[node] {
                case .new:
                    states[node] = .open
                    try follow(node, &path)
                case .open:
                    states[node] = .done
                    let longest = targets(of: node).map { lengths[$0] }.max() ?? 0
                    lengths[node] = longest + 1
                    guard longest < Self.maxChainLength else {
                        throw error(node, "more than \(Self.maxChainLength) schemas for one value")
                    }
                    path.removeLast()
                case .done: path.removeLast()
                }
            }
        }
    }

    private mutating func follow(_ node: Int, _ path: inout [Int]) throws(SchemaError) {
        let entry = builder.nodes[node]
        for position in Int(entry.start)..<Int(entry.end) {
            for target in targets(of: builder.instructions[position]) {
                if states[target] == .open {
                    let message = "the schema refers to itself endlessly"
                    throw error(node, message, keyword: "/" + builder.notes.keywords[position])
                }
                if states[target] == .new { path.append(target) }
            }
        }
    }

    /// The nodes that a node applies to the same value.
    private func targets(of node: Int) -> [Int] {
        let entry = builder.nodes[node]
        return builder.instructions[Int(entry.start)..<Int(entry.end)].flatMap(targets)
    }

    private func targets(of instruction: SchemaProgram.Instruction) -> [Int] {
        let targets: [Int32] =
            switch instruction.operation {
            case .apply, .not: [instruction.a]
            case .anyOf, .oneOf: Array(builder.operands[Int(instruction.a)..<Int(instruction.b)])
            case .condition: [instruction.a, instruction.b, instruction.c]
            case .dependentSchema: [instruction.b]
            default: []
            }
        return targets.filter { $0 >= 0 }.map(Int.init)
    }

    private func error(_ node: Int, _ message: String, keyword: String = "") -> SchemaError {
        let location = compiler.locations[node]
        return compiler.index.error(
            SchemaLocation(document: location.document, pointer: location.pointer + keyword),
            message
        )
    }
}
