import Configuration
import Testing

@Suite struct ProxyTests {
    @Test(arguments: [
        ("http://proxy:3128", "proxy", 3128, String?.none),
        ("http://user@proxy.internal:80", "proxy.internal", 80, "user"),
        ("http://[::1]:8080", "::1", 8080, nil),
    ])
    func `a proxy is named by its URL`(
        url: String,
        host: String,
        port: UInt16,
        username: String?
    ) throws {
        let proxy = try #require(ProxyAddress(url: url))
        #expect(proxy == ProxyAddress(host: host, port: port, username: username))
        #expect(proxy.description == url)
    }

    @Test(arguments: [
        "", "proxy:3128", "https://proxy:3128", "http://proxy", "http://user:secret@proxy:3128",
        "http://@proxy:3128", "http://proxy:3128/path", "http://a@b@proxy:3128",
    ])
    func `anything else is not a proxy`(url: String) {
        #expect(ProxyAddress(url: url) == nil)
    }

    @Test(arguments: [
        ("", "api.push.apple.com", false),
        ("*", "api.push.apple.com", true),
        ("api.push.apple.com", "api.push.apple.com", true),
        ("API.push.Apple.com", "api.PUSH.apple.com", true),
        ("apple.com", "api.push.apple.com", true),
        (".apple.com", "api.push.apple.com", true),
        (".apple.com", "apple.com", true),
        ("ple.com", "api.push.apple.com", false),
        ("localhost, 127.0.0.1,.internal", "127.0.0.1", true),
        ("localhost, 127.0.0.1,.internal", "127.0.0.10", false),
        ("localhost, 127.0.0.1,.internal", "simulator.internal", true),
    ])
    func `NO_PROXY follows the common rules`(text: String, host: String, covered: Bool) {
        #expect(ProxyExceptions(text).covers(host) == covered)
    }

    @Test(arguments: [
        ("", [:], String?.none),
        ("", ["NO_PROXY": "a.b"], "a.b"),
        ("", ["no_proxy": "a.b"], "a.b"),
        ("  no_proxy: c.d", ["NO_PROXY": "a.b"], "c.d"),
        ("", ["NO_PROXY": "a.b", "HELIOGRAPH_APNS_NO_PROXY": "e.f"], "e.f"),
    ])
    func `the key wins over the variable`(
        yaml: String,
        environment: [String: String],
        expected: String?
    ) throws {
        let configuration = try configuration(credentialYAML + yaml, environment)
        #expect(configuration.apns.noProxy?.description == expected)
    }
}
