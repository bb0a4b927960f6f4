import APNsRules
import Delivery
import Foundation
import HTTP2IO
import Vocabulary

/// Where each route's connections go: host, TLS context, proxy.
struct APNsEndpoints {
    private let apns: Configuration.APNs

    init(_ apns: Configuration.APNs) {
        self.apns = apns
    }

    /// The endpoints of all credentials, by the route's index.
    func all(_ materials: [CredentialMaterial]) throws(ServiceError) -> [APNsEndpoint] {
        let plain = try tlsContext(identity: nil)
        let password = try proxyPassword()
        var contexts: [TLSContext] = []
        for material in materials {
            guard let certificate = material.certificate else {
                contexts.append(plain)
                continue
            }
            contexts.append(try tlsContext(identity: certificate.identity))
        }
        return Route.all(credentialCount: materials.count).map { route in
            endpoint(route.environment, contexts[route.credential], proxyPassword: password)
        }
    }

    /// The endpoint of one credential in an environment.
    func endpoint(
        _ environment: APNsEnvironment,
        _ material: CredentialMaterial
    ) throws(ServiceError) -> APNsEndpoint {
        let context = try tlsContext(identity: material.certificate?.identity)
        return endpoint(environment, context, proxyPassword: try proxyPassword())
    }

    private func tlsContext(identity: TLSIdentity?) throws(ServiceError) -> TLSContext {
        let trust: TLSTrust = apns.caFile.map { .file($0) } ?? .system
        do throws(TLSError) {
            return try TLSContext.client(trust: trust, identity: identity)
        } catch {
            let file = apns.caFile ?? "the system's roots"
            throw ServiceError(text: "apns.ca_file: \(file): \(error)")
        }
    }

    private func endpoint(
        _ environment: APNsEnvironment,
        _ tls: TLSContext,
        proxyPassword: String?
    ) -> APNsEndpoint {
        let endpoint = apns.endpoints[environment]
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let authority = endpoint.port == 443 ? host : "\(host):\(endpoint.port)"
        return APNsEndpoint(
            host: endpoint.host,
            port: endpoint.port,
            tls: tls,
            headers: RequestHeaders(authority: authority),
            proxy: proxy(to: endpoint, password: proxyPassword)
        )
    }

    private func proxy(to endpoint: Endpoint, password: String?) -> APNsEndpoint.Proxy? {
        guard let proxy = apns.proxy, apns.noProxy?.covers(endpoint.host) != true else {
            return nil
        }
        let tunnel = ProxyTunnel(
            host: endpoint.host,
            port: endpoint.port,
            authorization: proxy.username.map { user in
                // RFC 7617: user and password, joined by a colon, in Base64.
                "Basic " + Data("\(user):\(password ?? "")".utf8).base64EncodedString()
            }
        )
        return APNsEndpoint.Proxy(host: proxy.host, port: proxy.port, tunnel: tunnel)
    }

    private func proxyPassword() throws(ServiceError) -> String? {
        guard let file = apns.proxyPasswordFile else { return nil }
        do throws(FileError) {
            let limit = Configuration.maxKeyFileByteCount
            return SecretText.line(of: try BoundedFile.read(file, limit: limit))
        } catch {
            throw ServiceError(text: "apns.proxy_password_file: '\(file)' \(error)")
        }
    }
}
