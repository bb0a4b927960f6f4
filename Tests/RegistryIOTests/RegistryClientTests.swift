import RegistryIO
import Testing
import Vocabulary

@Suite struct RegistryClientTests {
    @Test func `a registry that nobody serves is unreachable, not unknown`() throws {
        // Port 1 is reserved (tcpmux), and nothing listens there.
        let access = RegistryAccess(urls: ["http://127.0.0.1:1"], timeout: .seconds(5))
        let client = try RegistryClient(access)
        let error = #expect(throws: RegistryError.self) { _ = try client.fetch(.id(1)) }
        guard case .unreachable = error else {
            Issue.record("unexpected \(String(describing: error))")
            return
        }
    }
}
