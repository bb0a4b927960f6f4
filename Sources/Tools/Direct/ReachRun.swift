import APNsRules
package import Configuration
import Credentials
import HTTP2IO
import Log
import Vocabulary

/// The APNs part of `heliograph check --connect`.
///
/// It connects once for each credential and environment, and sends no request.
package struct ReachRun {
    /// The key of a connection; credentials without a certificate share one per host.
    private struct Way: Hashable {
        let host: String
        let port: UInt16
        /// The index of the credential whose certificate is sent.
        let certificate: Int?
    }

    private let configuration: Configuration
    private let timeout: Duration

    /// Prepares a run; `timeout` applies to each connection.
    package init(_ configuration: Configuration, timeout: Duration) {
        self.configuration = configuration
        self.timeout = timeout
    }

    /// Connects to each endpoint in turn; it blocks its thread.
    ///
    /// - Returns: A finding for each credential in each of its environments.
    /// - Throws: `ServiceError` if a file of the configuration cannot be used.
    package func findings() throws -> [ConnectionFinding] {
        let credentials = configuration.apns.credentials
        let materials = try configuration.apns.readMaterials()
        let endpoints = try configuration.apns.readEndpoints()
        var seen: [Way: Result<String, any Error>] = [:]
        var findings: [ConnectionFinding] = []
        for (index, (credential, material)) in zip(credentials, materials).enumerated() {
            let scope = CredentialScope(credential, material)
            for environment in APNsEnvironment.allCases
            where scope.environments.contains(environment) {
                let endpoint = try endpoints.endpoint(environment, material)
                let way = Way(
                    host: endpoint.host,
                    port: endpoint.port,
                    certificate: material.certificate == nil ? nil : index
                )
                let result = seen[way] ?? Result { try reach(endpoint) }
                seen[way] = result
                let place =
                    "apns.credentials.\(index) (\(credential.name), \(environment.rawValue))"
                findings.append(finding(place, result))
            }
        }
        return findings
    }

    private func reach(_ endpoint: APNsEndpoint) throws -> String {
        let address = try DirectExchange(endpoint, timeout: timeout).reach()
        return "\(endpoint.host) answers at \(address) with TLS and HTTP/2"
    }

    private func finding(
        _ place: String,
        _ result: Result<String, any Error>
    ) -> ConnectionFinding {
        switch result {
        case .success(let text): return .works(place, text)
        case .failure(let error):
            let lines = "\(error)".split(separator: "\n")
            let advice =
                lines.count > 1
                ? "" : "; check DNS, the network path, apns.proxy and apns.ca_file"
            return .fails(place, lines.joined(separator: "; ") + advice)
        }
    }
}
