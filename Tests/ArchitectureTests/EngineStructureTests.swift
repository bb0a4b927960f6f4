import Testing

/// The engine's six owners keep their state to themselves and know nothing of each other.
@Suite struct EngineStructureTests {
    private static let engine = "DeliveryEngine"
    private static let owners = [
        "Assignment", "Intake", "Hygiene", "Dispatch", "Retry", "Publishing",
    ]

    /// A replay stands outside, as a shard does: it tells the engine what a log says.
    @Test func `nobody but its own file names the engine`() throws {
        for file in try sources(of: "Delivery")
        where !file.isNamed(Self.engine) && !file.isNamed("Replay") {
            #expect(!file.mentions(Self.engine), "\(file.name)")
        }
    }

    @Test(arguments: owners)
    func `an owner names no other owner`(owner: String) throws {
        let file = try #require(try sources(of: "Delivery").first { $0.isNamed(owner) })
        for other in Self.owners where other != owner {
            #expect(!file.mentions(other), "\(owner) knows \(other)")
        }
    }

    /// What is `private` in Swift is seen by extensions in the same file only.
    @Test(arguments: owners + [engine])
    func `the state of an owner is private, and no other file extends it`(owner: String) throws {
        for file in try sources(of: "Delivery") {
            guard file.isNamed(owner) else {
                #expect(!file.code.contains { $0.hasPrefix("extension \(owner) ") }, "\(file.name)")
                continue
            }
            for line in file.storedProperties(of: owner) {
                let isPrivate = ["private ", "private(set) ", "public private(set) "]
                    .contains { line.hasPrefix($0) }
                #expect(isPrivate, "\(owner): \(line)")
            }
        }
    }
}

extension SourceFile {
    fileprivate func isNamed(_ type: String) -> Bool {
        name == "\(type).swift" || name.hasSuffix("/\(type).swift")
    }

    /// Its lines without comments.
    fileprivate var code: [Substring] {
        lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
    }

    /// Whether the code has the word, as a word.
    fileprivate func mentions(_ word: String) -> Bool {
        code.contains { line in
            line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
        }
    }

    /// The declarations of a type's own variables, which stand four spaces in.
    fileprivate func storedProperties(of type: String) -> [Substring] {
        let start = code.firstIndex { $0.contains("struct \(type):") } ?? code.endIndex
        let body = code[start...].prefix { $0 != "}" }
        return body.filter { $0.hasPrefix("    ") && !$0.hasPrefix("     ") }
            .map { $0.drop { $0 == " " } }
            .filter { $0.contains(" var ") || $0.hasPrefix("var ") }
            .filter { !$0.contains("{") }
    }
}
