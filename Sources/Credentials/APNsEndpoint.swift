package import APNsRules
package import HTTP2IO

/// Where to send a route's notifications, and how to connect.
package struct APNsEndpoint: Sendable {
    package var host: String
    package var port: UInt16
    /// Includes the credential's certificate, if it has one.
    package var tls: TLSContext
    package var headers: RequestHeaders
    package var proxy: Proxy?

    package struct Proxy: Sendable {
        package var host: String
        package var port: UInt16
        package var tunnel: ProxyTunnel
    }
}
