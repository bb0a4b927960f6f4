import APNsRules
import APNsSimulator
import HTTP2IO
import SystemIO
import Testing
import Vocabulary

@Suite struct ResponseDateTests {
    @Test(arguments: [Int64(0), 86400, -86400, 31_536_000, 8_640_000])
    func `the date of an answer is the clock's plus the configured error`(offset: Int64) throws {
        var configuration = SimulatorConfiguration()
        configuration.scenario.clockOffset = .seconds(offset)
        let simulator = try APNsSimulator(configuration).start()
        let client = try TestClient(port: simulator.sandboxPort, of: simulator)
        let earliest = SystemClock.wallClock.seconds + offset
        let response = try client.exchange(Fixture.headers(nil))
        let latest = SystemClock.wallClock.seconds + offset
        // Parsed by the client's own, independent code.
        let text = try #require(response.text(of: "date"))
        let date = try #require(HTTPDate.timestamp(text))
        #expect((earliest...latest).contains(date.seconds))
    }
}
