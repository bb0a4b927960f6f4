import APNsRules
package import Configuration
import Credentials
import Delivery
import EventCodec
import JSON
import Log
import SystemIO
import Vocabulary

/// Runs `heliograph push`: sends one event as the service would, and shows the details.
package struct PushRun {
    private let configuration: Configuration
    private let timeout: Duration

    package init(_ configuration: Configuration, timeout: Duration) {
        self.configuration = configuration
        self.timeout = timeout
    }

    /// Checks the event as the service does, sends it once, and waits for the answer.
    ///
    /// It blocks its thread.
    ///
    /// - Parameters:
    ///   - event: One event as JSON, as it would be in the topic.
    ///   - kind: The kind of source to which the event would belong.
    /// - Returns: The request and the response.
    /// - Throws: `ServiceError` if the event is invalid, no credential covers it, or there is no
    ///   answer.
    package func send(
        _ event: [UInt8],
        as kind: Configuration.SourceKind
    ) throws -> PushReport {
        let event = try decode(event, as: kind)
        guard !event.event.isExpired(at: SystemClock.wallClock) else {
            throw ServiceError(text: "expiration: has passed (Expired); not sent")
        }
        let materials = try configuration.apns.readMaterials()
        let scopes = zip(configuration.apns.credentials, materials).map(CredentialScope.init)
        let route = try CredentialRouting(scopes).route(
            for: event.event.destination,
            pushType: event.event.pushType,
            environment: event.event.environment
        )
        guard let route else {
            throw ServiceError(
                text: "apns.credentials: none covers the event's bundle ID (NoCredential); add one"
            )
        }
        let isByCertificate = materials[route.credential].certificate != nil
        let isSendable = event.event.pushType.isSendable(
            byCertificate: isByCertificate,
            isBroadcast: event.event.isBroadcast
        )
        guard isSendable else {
            throw ServiceError(
                text: "\(LocalReason.providerTokenRequired.rawValue): not sent; APNs accepts "
                    + "\(event.event.pushType.rawValue) only with a provider token, and "
                    + "\(scopes[route.credential].name) is a certificate"
            )
        }
        let endpoint = try configuration.apns.readEndpoints().endpoint(
            route.environment,
            materials[route.credential]
        )
        let block = headers(event.event, endpoint, materials[route.credential])
        let exchange = try DirectExchange(endpoint, timeout: timeout)
        return PushReport(
            credential: scopes[route.credential].name,
            environment: route.environment,
            kind: event.event.isBroadcast ? .broadcast : .device,
            request: block,
            warnings: event.event.warnings,
            answer: try exchange.ask(block, body: Array(event.payload))
        )
    }

    private func decode(
        _ bytes: [UInt8],
        as kind: Configuration.SourceKind
    ) throws -> (event: Event, payload: ArraySlice<UInt8>) {
        let payloadSchemas: PayloadSchemas
        do throws(SchemaProblems) {
            payloadSchemas = try configuration.payloadSchemas()
        } catch {
            throw ServiceError(error)
        }
        var decoder = EventDecoder(
            payloadPolicy: configuration.payloadPolicy,
            payloadSchemas: payloadSchemas,
            limits: configuration.eventLimits
        )
        var record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: bytes
        )
        let source =
            configuration.sources.first { $0.kind == kind } ?? configuration.sources[0]
        let decoded =
            switch kind {
            case .notification: decoder.decode(&record, from: source.topic)
            case .broadcast: decoder.decode(&record, from: source.topic, as: BroadcastSchema())
            }
        switch decoded {
        case .event(let event), .awaitingSchema(let event, _):
            return (event, (record.eventBytes ?? bytes)[event.payload])
        case .fanOut:
            throw ServiceError(
                text: "--event: the event has `recipients`; push sends to one device"
            )
        case .invalid(let invalid), .unreadable(let invalid, _):
            let lines = invalid.violations.map { violation in
                let place = violation.instanceLocation
                return "\(place.isEmpty ? "the event" : place): \(violation.message)"
            }
            throw ServiceError(lines: ["\(invalid.reason.rawValue): not sent"] + lines)
        case .tombstone: throw ServiceError(text: "--event: the event is empty")
        }
    }

    private func headers(
        _ event: Event,
        _ endpoint: APNsEndpoint,
        _ material: CredentialMaterial
    ) -> HeaderBlock {
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        let token = material.signingKey.map { ProviderTokenSource($0).token(now: now) }
        var block = HeaderBlock()
        endpoint.headers.fill(
            &block,
            for: event,
            topic: APNsTopicRule.topic(of: event),
            providerToken: token
        )
        return block
    }
}
