import Log
import Telemetry
import Testing

@Suite struct LogFactsTests {
    private static func text(_ facts: LogFacts) -> String {
        let keeper = LogKeeper()
        keeper.log().log(.debug, "m", facts)
        return keeper.lines.joined()
    }

    @Test func `facts are sorted by name, whatever their order in the code`() {
        let facts: LogFacts = [.version: "1", .address: "a", .apnsID: "i", .source: "s"]
        #expect(Self.text(facts) == "debug    m address=a apns_id=i source=s version=1")
    }

    @Test func `nil in a literal adds no fact`() {
        let absent: String? = nil
        let facts: LogFacts = [.reason: absent, .status: "200", .device: nil]
        #expect(Self.text(facts) == "debug    m status=200")
        #expect(facts[.reason] == nil)
        #expect(facts[.status] == "200")
    }

    @Test func `a fact is set, replaced and removed by its key`() {
        var facts: LogFacts = [.count: "1"]
        facts[.port] = "80"
        facts[.count] = "2"
        #expect(Self.text(facts) == "debug    m count=2 port=80")
        facts[.count] = nil
        facts[.shard] = nil
        #expect(Self.text(facts) == "debug    m port=80")
        #expect(facts[.count] == nil)
    }

    @Test func `a duplicate key in a literal is a programming error`() async {
        await #expect(processExitsWith: .failure) {
            let facts: LogFacts = [.count: "1", .port: "80", .count: "2"]
            _ = facts
        }
        await #expect(processExitsWith: .failure) {
            let facts: LogFacts = [.count: nil, .count: "2"]
            _ = facts
        }
    }
}
