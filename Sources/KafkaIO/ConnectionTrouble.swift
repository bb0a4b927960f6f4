import CRdkafka

/// A failed connection to a broker: the cause, and what to do about it.
///
/// librdkafka reports everything in one text, such as `ssl://10.0.0.7:9093/1: Connect to
/// ipv4#10.0.0.7:9093 failed: Connection refused (after 3ms in state CONNECT)`.
/// The texts are those of version 2.0.2 (rdkafka_broker.c, rdkafka_transport.c, rdkafka_ssl.c,
/// rdkafka_sasl.c). Unknown texts are passed on unchanged.
public struct ConnectionTrouble {
    /// How the client is configured to connect.
    public struct Security: Hashable, Sendable {
        var usesTLS: Bool
        var usesLogin: Bool
        /// Whether it has a client certificate.
        var hasCertificate: Bool
        /// The library's version, if it cannot log in to Kafka 4 with the configured mechanism.
        var tooOldForKafka4: String?
        /// The names of the login properties.
        var credentials: String

        public init(
            usesTLS: Bool = false,
            usesLogin: Bool = false,
            hasCertificate: Bool = false,
            tooOldForKafka4: String? = nil,
            credentials: String = "sasl.username and sasl.password"
        ) {
            self.usesTLS = usesTLS
            self.usesLogin = usesLogin
            self.hasCertificate = hasCertificate
            self.tooOldForKafka4 = tooOldForKafka4
            self.credentials = credentials
        }

        /// The value of `security.protocol`.
        static func name(tls: Bool, login: Bool) -> String {
            switch (tls, login) {
            case (false, false): "plaintext"
            case (true, false): "ssl"
            case (false, true): "sasl_plaintext"
            case (true, true): "sasl_ssl"
            }
        }
    }

    /// Host and port.
    let address: String
    /// Whether a broker advertised the address; false: it is in `bootstrap.servers`.
    private let isAdvertised: Bool
    private let said: String

    /// - Returns: nil if the text names no broker.
    public init?(_ text: String) {
        guard let colon = text.firstRange(of: ": ") else { return nil }
        var name = text[..<colon.lowerBound]
        var said = text[colon.upperBound...]
        if name == "GroupCoordinator" {
            // "GroupCoordinator: 10.0.0.7:9093: Connect to …"
            guard let next = said.firstRange(of: ": ") else { return nil }
            name = said[..<next.lowerBound] + "/group"
            said = said[next.upperBound...]
        }
        if let scheme = name.firstRange(of: "://") { name = name[scheme.upperBound...] }
        guard let slash = name.lastIndex(of: "/") else { return nil }
        if let state = said.firstRange(of: " (after ") { said = said[..<state.lowerBound] }
        address = String(name[..<slash])
        isAdvertised = name[name.index(after: slash)...] != "bootstrap"
        self.said = String(said)
    }

    /// The whole message.
    ///
    /// - Parameters:
    ///   - security: the client's connection settings.
    ///   - certificateError: OpenSSL's error number for the broker's certificate (x509_vfy.h), if
    ///     it was logged before.
    ///   - hasWorked: whether a connection to the address has worked before.
    /// - Returns: one line, without a line break.
    public func line(
        _ security: Security,
        certificateError: Int?,
        hasWorked: Bool
    ) -> String {
        let cause =
            cause(ofPlainText: security) ?? cause(ofTLS: security, certificateError)
            ?? cause(ofLogin: security)
        if let cause { return "\(address): \(cause)" }
        let reach = said.replacing("Connect to ipv4#\(address) failed: ", with: "")
            .replacing("Connect to ipv6#\(address) failed: ", with: "")
        if hasWorked {
            return
                "\(address): \(reach); this address worked before, so the broker is probably down"
        }
        return isAdvertised
            ? "\(address): \(reach); this address comes from the broker's advertised.listeners, which"
                + " must be reachable from here"
            : "\(address): \(reach); check kafka.bootstrap_servers"
    }

    private func cause(ofPlainText security: Security) -> String? {
        if let mark = said.firstRange(of: "Invalid response size "),
            let size = UInt32(said[mark.upperBound...].prefix { $0.isNumber }),
            (0..<4).allSatisfy({ (0x20...0x7E).contains(size >> ($0 * 8) & 0xFF) })
        {
            // The four letters are read as a message length.
            return "answers in another protocol, so this is not a port of Kafka"
        }
        guard said.contains("Disconnected while requesting ApiVersion") else { return nil }
        let wanted = Security.name(tls: true, login: security.usesLogin)
        return "closes the connection at the first request; it probably expects TLS: set"
            + " kafka.properties.security.protocol to \(wanted)"
    }

    private func cause(ofTLS security: Security, _ certificateError: Int?) -> String? {
        if said.contains("certificate verify failed") {
            return Self.cause(ofCertificateError: certificateError)
        }
        let ownCertificate =
            "kafka.properties.ssl.certificate.location and ssl.key.location"
        if said.contains("SSL alert number") {
            guard security.hasCertificate else {
                return "asks for a client certificate: set \(ownCertificate)"
            }
            return
                "refuses the client certificate of \(ownCertificate): it has expired, or the broker"
                + " does not trust its authority"
        }
        // If the peer is fast, librdkafka sees the error in SSL_connect, and reports only OpenSSL's
        // text.
        let isHandshake =
            said.contains("SSL handshake failed")
            || said.contains("SSL routines") && !said.contains("Receive failed")
                && !said.contains("Send failed")
        if isHandshake,
            said.contains("unexpected eof") || said.contains("wrong version number")
                || said.contains("Disconnected")
        {
            let wanted = Security.name(tls: false, login: security.usesLogin)
            return "does not speak TLS: set kafka.properties.security.protocol to \(wanted)"
        }
        return nil
    }

    /// Error numbers of OpenSSL's x509_vfy.h.
    private static func cause(ofCertificateError number: Int?) -> String {
        switch number {
        case 9: "its certificate is not valid yet; check this machine's clock"
        case 10: "its certificate has expired"
        case 62, 64:
            "its certificate is for another host; use a name from the certificate"
        case 2, 18, 19, 20, 21, nil:
            "its certificate is signed by an authority that is not trusted here: set"
                + " kafka.properties.ssl.ca.location to the authority's certificate"
        case let number?: "its certificate cannot be verified (X.509 error \(number))"
        }
    }

    private func cause(ofLogin security: Security) -> String? {
        if said.contains("broker might require SASL authentication") {
            let wanted = Security.name(tls: security.usesTLS, login: true)
            return "closes the connection at the first request; it probably expects a login: set"
                + " kafka.properties.security.protocol to \(wanted), and sasl.mechanisms,"
                + " sasl.username and sasl.password"
        }
        if said.contains("Request not valid in current SASL state") {
            let wanted = Security.name(tls: security.usesTLS, login: false)
            return "expects no login: set kafka.properties.security.protocol to \(wanted)"
        }
        if said.contains("Unsupported SASL mechanism") {
            let offered = said.firstRange(of: "supported mechanisms: ").map {
                String(said[$0.upperBound...])
            }
            return "does not offer this login mechanism: set kafka.properties.sasl.mechanisms to"
                + " \(offered ?? "one that it offers")"
        }
        if said.contains("SASL authentication error") {
            let credentials = "kafka.properties.\(security.credentials)"
            guard let library = security.tooOldForKafka4 else {
                return "refuses the login: check \(credentials) (\(said))"
            }
            return "refuses the login: check \(credentials); if the broker is Kafka 4 or newer,"
                + " \(library) cannot log in by SCRAM: use librdkafka 2.6.1 or newer, or another"
                + " kafka.properties.sasl.mechanisms (\(said))"
        }
        return nil
    }
}

extension KafkaError.Code {
    /// What to do about an error whose text does not say so.
    var remedy: String? {
        switch libraryCode {
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            "give the service's principal Read on topics that it reads and Write on those that it writes"
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
            "give the service's principal Read on the group of kafka.group_id"
        case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            "give the service's principal Write on the transactional ID"
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
            "give the service's principal IdempotentWrite on the cluster, and Create for"
                + " kafka.create_topics"
        case RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL:
            "another member of the group uses another partition.assignment.strategy: set"
                + " kafka.group_id to a group that only this service uses"
        case RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT:
            "the broker's group.min.session.timeout.ms and group.max.session.timeout.ms do not allow"
                + " session.timeout.ms"
        default: nil
        }
    }
}
