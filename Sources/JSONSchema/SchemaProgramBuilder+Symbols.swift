import JSON

extension SchemaProgramBuilder {
    /// Assigns a symbol to each name in `properties` and `required`.
    ///
    /// It is the name's position in one table for the whole program, so that an object's names are
    /// looked up once for all instructions.
    ///
    /// A schema with more names than symbols gets none, and looks up each name separately.
    mutating func assignSymbols() {
        let rules = instructions.filter { $0.operation == .members }.map { Int($0.a) }
        let requirements = instructions.indices.filter { instructions[$0].operation == .required }
        // By bytes: equivalent Unicode texts are equal as `String`s, but not in JSON.
        var symbols: [[UInt8]: Int] = [:]
        var texts: [String] = []
        func symbol(of name: Int) -> Int {
            let text = names.text(name)
            if let known = symbols[Array(text.utf8)] { return known }
            symbols[Array(text.utf8)] = texts.count
            texts.append(text)
            return texts.count - 1
        }
        let rulesSymbols = rules.map { rule in
            memberRules[rule].propertyNames.map(symbol(of:))
        }
        let requiredSymbols = requirements.map { index in
            operands[Int(instructions[index].a)..<Int(instructions[index].b)]
                .map { symbol(of: Int($0)) }
        }
        guard texts.count <= JSONNameTable.maxCount else { return }
        self.symbols = JSONNameTable(texts)
        for (rule, symbols) in zip(rules, rulesSymbols) {
            let first = Int(memberRules[rule].nodes)
            var nodes = [Int32](repeating: -1, count: texts.count)
            for (position, symbol) in symbols.enumerated() {
                nodes[symbol] = operands[first + position]
            }
            if memberRules[rule].patterns.isEmpty { memberRules[rule].symbols = Self.set(symbols) }
            memberRules[rule].symbolNodes = list(nodes).lowerBound
        }
        for (index, symbols) in zip(requirements, requiredSymbols) {
            symbolSets.append(Self.set(symbols))
            instructions[index].c = Int32(symbolSets.count - 1)
        }
    }

    private static func set(_ symbols: [Int]) -> SymbolSet {
        symbols.reduce(into: []) { $0.insert(SymbolSet($1)) }
    }
}
