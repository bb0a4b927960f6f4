package import APNsRules
package import HTTP2IO

/// Where a route's notifications go, and how to get there.
package struct APNsEndpoint: Sendable {
    package var host: String
    package var port: UInt16
    /// With the credential's certificate, if it has one.
    package var tls: TLSContext
    package var headers: RequestHeaders
    package var proxy: Proxy?

    package struct Proxy: Sendable {
        package var host: String
        package var port: UInt16
        package var tunnel: ProxyTunnel
    }
}
