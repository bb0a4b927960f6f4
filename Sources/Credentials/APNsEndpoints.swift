import APNsRules
import Configuration
import Foundation
import HTTP2IO
package import Log
package import Vocabulary

/// How each route connects: host, TLS context, proxy.
package struct APNsEndpoints: Sendable {
    private let apns: Configuration.APNs
    private let trust: TLSTrust
    private let proxyPassword: String?
    /// The TLS context of all connections without a client certificate.
    private let plain: TLSContext

    /// `files` contains `ca` and `proxy_password`.
    init(_ apns: Configuration.APNs, _ files: WatchedFiles) throws(ServiceError) {
        self.apns = apns
        do throws(CredentialMaterialError) {
            trust = try files.bytes("ca").map { .pem($0) } ?? .system
            proxyPassword = try files.bytes("proxy_password").map(SecretText.line)
        } catch {
            throw ServiceError(text: "apns.\(error.text)")
        }
        plain = try Self.context(apns, trust, identity: nil)
    }

    /// The endpoints of one credential, in the order of `APNsEnvironment`.
    package func all(of material: CredentialMaterial) throws(ServiceError) -> [APNsEndpoint] {
        let tls = try context(material)
        return APNsEnvironment.allCases.map { endpoint(apns.endpoints[$0], tls) }
    }

    /// The endpoint of one credential in an environment.
    package func endpoint(
        _ environment: APNsEnvironment,
        _ material: CredentialMaterial
    ) throws(ServiceError) -> APNsEndpoint {
        endpoint(apns.endpoints[environment], try context(material))
    }

    /// The endpoint where a credential manages the broadcast channels of an environment.
    package func managementEndpoint(
        _ environment: APNsEnvironment,
        _ material: CredentialMaterial
    ) throws(ServiceError) -> APNsEndpoint {
        endpoint(apns.endpoints.management(environment), try context(material))
    }

    private func context(_ material: CredentialMaterial) throws(ServiceError) -> TLSContext {
        guard let identity = material.certificate?.identity else { return plain }
        return try Self.context(apns, trust, identity: identity)
    }

    private static func context(
        _ apns: Configuration.APNs,
        _ trust: TLSTrust,
        identity: TLSIdentity?
    ) throws(ServiceError) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext.client(trust: trust, identity: identity)
        } catch {
            let file = apns.caFile?.quoted ?? "the list of the system's roots"
            throw ServiceError(text: "apns.ca_file: \(file) \(error)")
        }
    }

    private func endpoint(
        _ endpoint: Endpoint,
        _ tls: TLSContext
    ) -> APNsEndpoint {
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let authority = endpoint.port == 443 ? host : "\(host):\(endpoint.port)"
        return APNsEndpoint(
            host: endpoint.host,
            port: endpoint.port,
            tls: tls,
            headers: RequestHeaders(authority: authority),
            proxy: proxy(to: endpoint)
        )
    }

    private func proxy(to endpoint: Endpoint) -> APNsEndpoint.Proxy? {
        guard let proxy = apns.proxy, apns.noProxy?.covers(endpoint.host) != true else {
            return nil
        }
        let tunnel = ProxyTunnel(
            host: endpoint.host,
            port: endpoint.port,
            authorization: proxy.username.map { user in
                // RFC 7617: user and password, joined by a colon, in Base64.
                "Basic " + Data("\(user):\(proxyPassword ?? "")".utf8).base64EncodedString()
            }
        )
        return APNsEndpoint.Proxy(host: proxy.host, port: proxy.port, tunnel: tunnel)
    }
}
