import Testing

/// All output goes through one place, which replaces terminal control characters.
@Suite struct OutputTests {
    /// The files that print, and the functions that they use.
    private static let writers: Set<String> = [
        "heliograph/Console.swift", "heliograph/ByteStream.swift", "heliograph-lab/Terminal.swift",
        "Commands/Program.swift", "Log/StandardError.swift", "Log/LogSink.swift",
    ]
    /// `print(`, except as a member function.
    private static let words = [
        "StandardError.", "ByteStream.output", "FileHandle.standard", "to: STDOUT_FILENO",
        "to: STDERR_FILENO", "(STDOUT_FILENO,", "(STDERR_FILENO,", "fputs(", "puts(", "perror(",
        " print(", "(print(", "Swift.print(", "debugPrint(", "dump(",
    ]

    @Test(arguments: allowedImports.keys.sorted() + ["heliograph", "heliograph-lab"])
    func `nothing is printed without replacing control characters`(module: String) throws {
        for file in try sources(of: module) where !Self.writers.contains(file.name) {
            for line in file.lines where !line.contains("func print(") {
                guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { continue }
                for word in Self.words where line.contains(word) {
                    Issue.record(
                        "\(file.name): '\(word)' can print control characters; use the module's output functions"
                    )
                }
            }
        }
    }

    @Test func `every listed file that prints exists`() throws {
        let modules = Set(
            Self.writers.compactMap { $0.split(separator: "/").first.map(String.init) }
        )
        let names = try modules.flatMap { try sources(of: $0).map(\.name) }
        #expect(Self.writers.isSubset(of: Set(names)))
    }
}
