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
            "Silence after which a connection is probed with PING."
        )
        section.unsupported("proxy", "HTTP CONNECT proxy.")
    }
}

extension Configuration.Credential {
    fileprivate init(_ section: ConfigurationSection) {
        name = section.required("name", .nonEmpty, "What logs, metrics and outcomes call it.")
        let use = "Certificate credential."
        let hasCertificate = section.unsupported("certificate_file", use)
        let hasPrivateKey = section.unsupported("private_key_file", use)
        // Whoever sets a certificate need not hear that a key is missing too.
        let needsKey = !hasCertificate && !hasPrivateKey
        teamID = section.required(
            "team_id",
            .appleIdentifier,
            isNeeded: needsKey,
            "Apple's identifier of the team."
        )
        keyID = section.required(
            "key_id",
            .appleIdentifier,
            isNeeded: needsKey,
            "Apple's identifier of the key."
        )
        keyFile = section.required(
            "key_file",
            .filePath,
            isNeeded: needsKey,
            "The `.p8` file with the key."
        )
        bundleIDs = section.list(
            "bundle_ids",
            of: .bundleID,
            "The bundle IDs it covers; an exact one beats a pattern, a longer pattern a shorter."
        )
        environment = section.value(
            "environment",
            .word(placeholder: .production),
            default: .production,
            "Environment of the events that name none."
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
    }
}

extension Configuration.Connections {
    fileprivate init(_ section: ConfigurationSection) {
        min = section.value(
            "min",
            .integer(in: 1...100),
            default: 1,
            "Connections kept open, per shard, credential and environment in use."
        )
        max = section.value(
            "max",
            .integer(in: 1...100),
            default: 8,
            "Connections at most, per shard, credential and environment."
        )
    }
}
