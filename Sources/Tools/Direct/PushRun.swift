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
    /// The exchange as text, and whether APNs accepted every notification of the event.
    package struct Report {
        package let text: String
        package let isAccepted: Bool
    }

    /// What the event's notifications have in common.
    private struct Way {
        let credential: String
        let environment: APNsEnvironment
        let endpoint: APNsEndpoint
        /// Nil with a certificate.
        let providerToken: [UInt8]?
    }

    private let configuration: Configuration
    private let timeout: Duration
    private let isInterrupted: () -> Bool

    /// `isInterrupted` is called now and then, and after each signal; after true, nothing more is
    /// sent or waited for.
    package init(
        _ configuration: Configuration,
        timeout: Duration,
        isInterrupted: @escaping () -> Bool
    ) {
        self.configuration = configuration
        self.timeout = timeout
        self.isInterrupted = isInterrupted
    }

    /// Checks the event as the service does, sends it once to each of its devices, and waits for
    /// the answers.
    ///
    /// It blocks its thread.
    ///
    /// - Parameters:
    ///   - event: One event as JSON, as it would be in the topic.
    ///   - kind: The kind of source to which the event would belong.
    /// - Returns: The requests and the responses.
    /// - Throws: `ServiceError` if the event is invalid, no credential covers it, or there is no
    ///   answer.
    package func send(_ event: [UInt8], as kind: Configuration.SourceKind) throws -> Report {
        switch try decode(event, as: kind) {
        case .one(let event, let payload): try send(event, payload)
        case .many(let fanOut, let payload): try send(fanOut, payload)
        }
    }

    private func send(_ event: Event, _ payload: [UInt8]) throws -> Report {
        guard !event.isExpired(at: SystemClock.wallClock) else {
            throw ServiceError(text: "expiration: has passed (Expired); not sent")
        }
        let way = try way(of: event)
        let block = headers(event, way)
        let exchange = try exchange(with: way)
        let answer: DirectExchange.Answer
        do {
            answer = try exchange.ask(block, body: payload)
        } catch let lost as LostAnswer {
            throw ServiceError(text: "no answer; \(lost.fate): \(lost)")
        }
        let report = PushReport(
            credential: way.credential,
            environment: way.environment,
            kind: event.isBroadcast ? .broadcast : .device,
            request: block,
            warnings: event.allWarnings,
            answer: answer
        )
        return Report(text: report.text, isAccepted: report.isAccepted)
    }

    private func send(_ fanOut: FanOut, _ payload: [UInt8]) throws -> Report {
        var report = RecipientsReport(of: fanOut)
        let now = SystemClock.wallClock
        let events = (0..<fanOut.recipients.count).compactMap {
            index -> (index: Int, event: Event)? in
            switch fanOut.recipient(at: index) {
            case .valid(let event) where event.isExpired(at: now):
                report.notSent(index, because: LocalReason.expired)
            case .valid(let event): return (index, event)
            case .duplicate: report.notSent(index, because: LocalReason.duplicateRecipient)
            case .invalid(let invalid): report.notSent(index, because: invalid)
            }
            return nil
        }
        guard let first = events.first?.event else { return report.finished }
        let way = try way(of: first)
        report.head(way.credential, way.environment)
        var sent = events.map(\.index)[...]
        try exchange(with: way).ask(
            events.map { headers($0.event, way) },
            body: payload
        ) { answer in
            if let index = sent.popFirst() { report.answered(index, answer) }
        }
        return report.finished
    }

    private func exchange(with way: Way) throws -> DirectExchange {
        try DirectExchange(way.endpoint, timeout: timeout, isInterrupted: isInterrupted)
    }

    private func way(of event: Event) throws -> Way {
        let materials = try configuration.apns.readMaterials()
        let scopes = configuration.apns.scopes(materials)
        let route = try CredentialRouting(scopes).requiredRoute(
            for: event.destination,
            pushType: event.pushType,
            environment: event.environment
        )
        let isByCertificate = materials[route.credential].certificate != nil
        let isSendable = event.pushType.isSendable(
            byCertificate: isByCertificate,
            isBroadcast: event.isBroadcast
        )
        guard isSendable else {
            throw ServiceError(
                text: "\(LocalReason.providerTokenRequired.rawValue): not sent; APNs accepts "
                    + "\(event.pushType.rawValue) only with a provider token, and "
                    + "\(scopes[route.credential].name) is a certificate"
            )
        }
        let endpoint = try configuration.apns.readEndpoints().endpoint(
            route.environment,
            materials[route.credential]
        )
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        return Way(
            credential: scopes[route.credential].name,
            environment: route.environment,
            endpoint: endpoint,
            providerToken: materials[route.credential].signingKey.map {
                ProviderTokenSource($0).token(now: now)
            }
        )
    }

    private enum Decoded {
        case one(Event, payload: [UInt8])
        case many(FanOut, payload: [UInt8])
    }

    private func decode(
        _ bytes: [UInt8],
        as kind: Configuration.SourceKind
    ) throws -> Decoded {
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
            return .one(event, payload: Array((record.eventBytes ?? bytes)[event.payload]))
        case .fanOut(let fanOut, _):
            let payload = (record.eventBytes ?? bytes)[fanOut.common.payload]
            return .many(fanOut, payload: Array(payload))
        case .invalid(let invalid), .unreadable(let invalid, _):
            let lines = invalid.violations.map { violation in
                let place = violation.instanceLocation
                return "\(place.isEmpty ? "the event" : place): \(violation.message)"
            }
            throw ServiceError(lines: ["\(invalid.reason.rawValue): not sent"] + lines)
        case .tombstone: throw ServiceError(text: "--event: the event is empty")
        }
    }

    private func headers(_ event: Event, _ way: Way) -> HeaderBlock {
        var block = HeaderBlock()
        way.endpoint.headers.fill(
            &block,
            for: event,
            topic: APNsTopicRule.topic(of: event),
            providerToken: way.providerToken
        )
        return block
    }
}
