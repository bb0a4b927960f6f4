import APNsRules
package import Configuration
import Credentials
import Log
import SystemIO
package import Vocabulary

/// Runs `heliograph channels`: one request about an app's broadcast channels.
package struct ChannelRun {
    /// The requested action.
    package enum Order: Hashable, Sendable {
        /// Whether APNs stores the newest broadcast for offline devices; this cannot be changed
        /// later.
        case create(storesNewest: Bool)
        case read(ChannelID)
        case list
        case delete(ChannelID)
    }

    private let configuration: Configuration
    private let timeout: Duration

    package init(_ configuration: Configuration, timeout: Duration) {
        self.configuration = configuration
        self.timeout = timeout
    }

    /// Sends one request and waits for the answer.
    ///
    /// It blocks its thread. Nothing is retried: after a lost answer to `create` the channel may
    /// exist, and the report says so.
    ///
    /// - Parameters:
    ///   - order: The action.
    ///   - bundleID: The app's bundle ID, without a topic suffix.
    ///   - environment: nil: the credential's own.
    /// - Returns: The result.
    /// - Throws: `ServiceError` if no request was sent: the bundle ID is invalid, no credential
    ///   covers it, or there is no connection.
    package func carryOut(
        _ order: Order,
        bundleID: String,
        environment: APNsEnvironment?
    ) throws -> ChannelReport {
        guard case .exact? = BundleIDPattern(bundleID) else {
            throw ServiceError(
                text: "--bundle-id: '\(bundleID)' is not a bundle ID such as com.example.MyApp"
            )
        }
        let materials = try configuration.apns.readMaterials()
        let scopes = configuration.apns.scopes(materials)
        let route = try CredentialRouting(scopes).requiredRoute(
            for: .bundleID(bundleID),
            pushType: .liveactivity,
            environment: environment
        )
        let material = materials[route.credential]
        let endpoint = try configuration.apns.readEndpoints()
            .managementEndpoint(route.environment, material)
        let request = order.request
        let exchange = try DirectExchange(
            endpoint,
            timeout: timeout,
            maxBodyByteCount: Self.maxBodyByteCount
        )
        let block = headers(request, bundleID, endpoint, material)
        let target = ChannelReport.Target(
            bundleID: bundleID,
            environment: route.environment,
            credential: scopes[route.credential].name
        )
        do {
            let answer = try exchange.ask(block, body: request.body)
            return ChannelReport(target: target, request: request, answer: answer)
        } catch let lost as LostAnswer {
            return ChannelReport(target: target, request: request, lost: lost)
        }
    }

    /// Room for 10,000 channels, each with an ID of the maximum length.
    private static let maxBodyByteCount = 10_000 * (ChannelID.maxByteCount + 8)

    private func headers(
        _ request: ChannelRequest,
        _ bundleID: String,
        _ endpoint: APNsEndpoint,
        _ material: CredentialMaterial
    ) -> HeaderBlock {
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        var random = SystemRandomNumberGenerator()
        var block = HeaderBlock()
        endpoint.headers.fill(
            &block,
            for: request,
            bundleID: bundleID,
            requestID: APNsID(randomBits: random.next(), random.next()),
            providerToken: material.signingKey.map { ProviderTokenSource($0).token(now: now) }
        )
        return block
    }
}

extension ChannelRun.Order {
    fileprivate var request: ChannelRequest {
        switch self {
        case .create(let storesNewest): .create(storesNewest ? .newest : .none)
        case .read(let channel): .read(channel)
        case .list: .list
        case .delete(let channel): .delete(channel)
        }
    }
}
