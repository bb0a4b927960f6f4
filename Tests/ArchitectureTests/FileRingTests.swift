import Testing

/// Files of the core and of the shard depend on each other in one direction only.
///
/// A reader of a file needs the files that it names, and never the reverse.
@Suite struct FileRingTests {
    @Test(arguments: ["Delivery", "Shard"])
    func `the files of a module have no dependency cycle`(module: String) throws {
        let files = try sources(of: module)
        var declarers: [Substring: [Int]] = [:]
        for (index, file) in files.enumerated() {
            for name in file.declaredTypes { declarers[name, default: []].append(index) }
        }
        // Names that exactly one other file declares.
        var named = files.enumerated().map { index, file in
            Set(file.words.compactMap { declarers[$0] }.filter { $0.count == 1 }.map { $0[0] })
                .subtracting([index])
        }
        // Removes files that name none of the remaining ones; a cycle remains.
        var left = Set(files.indices)
        while let leaf = left.first(where: { named[$0].isDisjoint(with: left) }) {
            left.remove(leaf)
        }
        // Also removes files that merely lead to a cycle.
        for index in left { named[index].formIntersection(left) }
        #expect(left.map { files[$0].name }.sorted() == [])
    }
}

extension SourceFile {
    /// The file's top-level types that other files can name.
    fileprivate var declaredTypes: [Substring] {
        lines.compactMap { line in
            let words = line.split(separator: " ")
            guard let keyword = words.firstIndex(where: Self.keywords.contains), !line.isIndented,
                !words[..<keyword].contains("private"), !line.hasPrefix("//")
            else { return nil }
            return words[keyword + 1].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        }
    }

    private static let keywords: Set<Substring> = [
        "struct", "class", "enum", "protocol", "typealias",
    ]

    /// The words of the code, without comments and literals.
    fileprivate var words: Set<Substring> {
        Set(
            lines.flatMap { line -> [Substring] in
                let code = line.split(
                    separator: "//",
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                // Every second piece is between quotes.
                let pieces = (code.first ?? "").split(
                    separator: "\"",
                    omittingEmptySubsequences: false
                )
                return pieces.enumerated().filter { $0.offset.isMultiple(of: 2) }.flatMap {
                    $0.element.split { !$0.isLetter && !$0.isNumber && $0 != "_" }
                }
            }
        )
    }
}

extension Substring {
    fileprivate var isIndented: Bool { first == " " }
}
