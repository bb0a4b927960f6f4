import Vocabulary

extension Configuration.APNs {
    init(_ section: ConfigurationSection) {
        credentials = section.entries("credentials", Configuration.Credential.init)
        endpoints = section.section("endpoints", Configuration.Endpoints.init)
        caFile = section.optional(
            "ca_file",
            .filePath,
            "PEM file of trusted roots; null: the system's."
        )
        connections = section.section("connections", Configuration.Connections.init)
        requestTimeout = section.value(
            "request_timeout",
            .duration(in: .milliseconds(100)...(.seconds(300))),
            default: .seconds(30),
            "How long APNs may take to answer one request."
        )
        pingAfterIdle = section.value(
            "ping_after_idle",
            .duration(in: .milliseconds(100)...(.seconds(3600))),
            default: .seconds(60),
            "Idle time after which a connection is probed with PING."
        )
        proxy = section.optional(
            "proxy",
            .proxy,
            "HTTP proxy (CONNECT) for connections to APNs; null: none."
        )
        proxyPassword = section.secret(
            "proxy_password",
            file: "File with the password of the user in `apns.proxy`.",
            "The password itself."
        )
        noProxy =
            section.optional(
                "no_proxy",
                .proxyExceptions,
                """
                Hosts to reach without the proxy, including their subdomains; null: the hosts in \
                the variable `NO_PROXY`.
                """
            ) ?? section.reader.noProxy.map(ProxyExceptions.init)
    }
}

extension Configuration.Credential {
    fileprivate init(_ section: ConfigurationSection) {
        name = section.required(
            "name",
            .nonEmpty,
            "The credential's name in logs, metrics and outcomes."
        )
        let certificate = Self.certificate(section)
        let providerToken = Self.providerToken(section, isNeeded: certificate == nil)
        proof = certificate.map(Proof.certificate) ?? providerToken
        bundleIDs = section.list(
            "bundle_ids",
            of: .bundleID,
            "The bundle IDs that it covers. An exact one beats a pattern, a longer pattern"
                + " beats a shorter one."
        )
        environments = section.list(
            "environments",
            of: .word(placeholder: .production),
            default: APNsEnvironment.allCases,
            "Where it may be used. If the key is valid for one environment only, list only"
                + " that one."
        )
        environment = section.value(
            "environment",
            .word(placeholder: .production),
            default: environments.first ?? .production,
            "Environment of events without one; default: the first of `environments`."
        )
    }

    /// The keys of a certificate credential; nil if none of them is set.
    private static func certificate(
        _ section: ConfigurationSection
    ) -> Configuration.CertificateFiles? {
        let certificate = section.optional(
            "certificate_file",
            .filePath,
            "PEM or PKCS#12 file of a certificate, instead of `team_id`, `key_id` and `key_file`."
        )
        let privateKey = section.secret(
            "private_key",
            file: "PEM file of the certificate's key; null: it is in `certificate_file`.",
            "The content of that file; line breaks may be written as `\\n`."
        )
        let passphrase = section.secret(
            "passphrase",
            file: "File with the passphrase of that key or of the PKCS#12 file.",
            "The passphrase itself."
        )
        let isWanted = certificate != nil || section.isSet("certificate_file", mayBeNull: true)
        guard isWanted || privateKey != nil || passphrase != nil else { return nil }
        if !isWanted {
            section.reader.report(
                "is missing; expected the certificate of the private key",
                at: (section.path + ["certificate_file"]).joined(separator: ".")
            )
        }
        return Configuration.CertificateFiles(
            certificate: certificate ?? "",
            privateKey: privateKey,
            passphrase: passphrase
        )
    }

    /// The key ID, set in the configuration or read from a file.
    private static func keyID(
        _ section: ConfigurationSection,
        isNeeded: Bool
    ) -> Configuration.KeyID {
        let hasFile = section.isSet("key_id_file", mayBeNull: true)
        if hasFile, section.isSet("key_id") {
            section.reader.report(
                "is set together with `key_id_file`; remove one of them",
                at: (section.path + ["key_id"]).joined(separator: ".")
            )
        }
        let text = section.required(
            "key_id",
            .appleIdentifier,
            isNeeded: isNeeded && !hasFile,
            "Apple's identifier of the key; not with a certificate."
        )
        let file = section.optional(
            "key_id_file",
            .filePath,
            """
            File with that identifier, instead of `key_id`: it can then change together with \
            `key_file` while the service runs.
            """
        )
        return file.map { .file($0) } ?? .text(text)
    }

    /// The keys of a provider-token credential.
    private static func providerToken(
        _ section: ConfigurationSection,
        isNeeded: Bool
    ) -> Proof {
        let names = ["team_id", "key_id", "key_id_file", "key_file", "key"]
        if !isNeeded,
            let name = names.first(where: {
                section.isSet($0, mayBeNull: $0 == "key_id_file" || $0 == "key")
            })
        {
            section.reader.report(
                "is set together with a certificate; remove one of them",
                at: (section.path + [name]).joined(separator: ".")
            )
        }
        return .providerToken(
            teamID: section.required(
                "team_id",
                .appleIdentifier,
                isNeeded: isNeeded,
                "Apple's identifier of the team; not with a certificate."
            ),
            keyID: keyID(section, isNeeded: isNeeded),
            key: section.secret(
                "key",
                isRequired: isNeeded,
                file: "The `.p8` file with the key; not with a certificate.",
                "The content of that file; line breaks may be written as `\\n`."
            ) ?? .file("")
        )
    }
}

extension Configuration.Endpoints {
    fileprivate init(_ section: ConfigurationSection) {
        production = section.value(
            "production",
            .endpoint,
            default: Endpoint(host: "api.push.apple.com", port: 443),
            "APNs for production tokens."
        )
        sandbox = section.value(
            "sandbox",
            .endpoint,
            default: Endpoint(host: "api.sandbox.push.apple.com", port: 443),
            "APNs for sandbox tokens."
        )
        managementProduction = section.value(
            "management_production",
            .endpoint,
            default: Endpoint(host: "api-manage-broadcast.push.apple.com", port: 2196),
            "Where `heliograph channels` manages production channels."
        )
        managementSandbox = section.value(
            "management_sandbox",
            .endpoint,
            default: Endpoint(host: "api-manage-broadcast.sandbox.push.apple.com", port: 2195),
            "Where `heliograph channels` manages sandbox channels."
        )
    }
}

extension Configuration.Connections {
    fileprivate init(_ section: ConfigurationSection) {
        min = section.value(
            "min",
            .integer(in: 1...100),
            default: 1,
            "Minimum number of open connections, per shard, credential and environment in use."
        )
        max = section.value(
            "max",
            .integer(in: 1...100),
            default: 8,
            "Maximum number of connections, per shard, credential and environment."
        )
    }
}
