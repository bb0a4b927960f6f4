import APNsSimulator
import Glibc
import Testing

@Suite struct DocumentationTests {
    @Test(arguments: ["scenario", "scenario-storm", "demo-scenario"])
    func `the example scenarios are valid`(name: String) throws {
        let scenario = try ScenarioFile.parse(try contents(of: "examples/\(name).json"))
        #expect(scenario != Scenario(latency: scenario.latency))
    }

    @Test func `the documentation names every check and switch`() throws {
        let page = String(decoding: try contents(of: "docs/simulator.md"), as: UTF8.self)
        for name in Strictness.Check.allCases.map(\.rawValue)
            + Strictness.TokenUpdateScope.allCases.map(\.rawValue) + ScenarioFile.switches
        {
            #expect(page.contains("`\(name)`"), "\(name)")
        }
    }

    @Test func `the scenario in the documentation is valid`() throws {
        let page = String(decoding: try contents(of: "docs/simulator.md"), as: UTF8.self)
        let parts = page.split(separator: "```")
        let example = try #require(parts.first { $0.hasPrefix("json\n") })
        let scenario = try ScenarioFile.parse(Array(example.dropFirst(5).utf8))
        #expect(scenario.latency == .milliseconds(15))
    }

    private struct FileError: Error {
        var path: String
        var code: Int32
    }

    private func contents(of name: String) throws -> [UInt8] {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        guard let file = unsafe fopen(root + "/" + name, "r") else {
            throw FileError(path: name, code: errno)
        }
        defer { unsafe _ = fclose(file) }
        var text: [UInt8] = []
        while case let byte = unsafe fgetc(file), byte != EOF { text.append(UInt8(byte)) }
        return text
    }
}
