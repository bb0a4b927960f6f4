import AdminHTTP
import Testing

@Suite struct AdminHostsTests {
    private static let configured = AdminHosts([
        "push.example.com", "*.Push.Example.org", "worker-7.prod.example.net",
    ])

    @Test(arguments: [
        // Clients without Host: manual probes, HTTP/1.0.
        nil,
        // kubelets, Prometheus by pod address, `kubectl port-forward`.
        "10.42.0.17:9464", "127.0.0.1:9464", "[fd00::17]:9464", "[::1]", "192.168.0.1",
        "localhost:9464", "LOCALHOST", "a.localhost",
        // Services, headless ones, Compose.
        "heliograph:9464", "heliograph.push.svc", "heliograph.push.svc.cluster.local:9464",
        "heliograph-0.heliograph.push.svc.cluster.local.", "10-42-0-17.push.pod.cluster.local",
        "ip-10-0-0-1.ec2.internal:9464",
        // The machine itself, and configured names.
        "worker-7.prod.example.net", "push.example.com", "PUSH.example.com.:443",
        "a.push.example.org", "a.b.push.example.org:9464",
    ])
    func `the port answers to its names`(authority: String?) {
        #expect(Self.configured.admits(authority))
    }

    @Test(arguments: [
        "evil.example:9464", "evil.example", "push.example.com.evil.example",
        "a.push.example.com", "push.example.org", "evilpush.example.org", "svc.example",
        "cluster.local.example", "evilcluster.local", "x.svc.evil.example",
        "127.0.0.1.evil.example:9464", "1.2.3.4.nip.io", "evil.local",
        // Of no form that a host has.
        "", ":9464", "evil.example..", "evil.example..:9464", "a:b", "a:80:80", "[::1", "[::1]x",
        "user@localhost",
        "localhost:9464@evil.example",
        "evil.example#.localhost", "evil.example%00.localhost", "evil.example,localhost",
    ])
    func `a name that a web page can have in public DNS is refused`(authority: String) {
        #expect(!Self.configured.admits(authority))
    }

    @Test func `a star allows every name`() {
        #expect(AdminHosts(["*"]).admits("evil.example"))
        #expect(!AdminHosts([]).admits("push.example.com"))
    }
}
