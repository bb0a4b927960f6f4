import Configuration
import Credentials
import EventCodec
import Log
import RegistryIO
import Shard
import Telemetry
import Vocabulary

/// The external schemas, for all shards: the operator's and the registry's.
struct ForeignSchemas: Sendable {
    /// Nil: `schemas.directory` is not set.
    let directory: SchemaDirectory?
    /// Nil: `schema_registry.url` is not set.
    let registry: SchemaRegistry?

    /// Compiles the operator's schemas, and starts the threads; `stop` ends them.
    init(
        _ configuration: Configuration,
        metrics: SchemaMetrics,
        log: Log
    ) throws(ServiceError) {
        do throws(SchemaProblems) {
            directory = try configuration.schemas.directory.map { path throws(SchemaProblems) in
                try SchemaDirectory(
                    path: path,
                    bindings: SchemaBindings(configuration),
                    metrics: metrics,
                    log: log
                )
            }
        } catch {
            throw ServiceError(error)
        }
        registry = configuration.schemaRegistry.access.map {
            SchemaRegistry(
                $0,
                compilation: SchemaCompilation(assertsFormat: configuration.schemas.assertFormat),
                metrics: metrics,
                log: log
            )
        }
    }

    var forShards: ShardSchemas {
        ShardSchemas(
            payloadSchemas: { [directory] seen in directory?.schemas(newerThan: &seen) },
            fetch: registry.map { registry in
                { @Sendable schema, shard in registry.fetch(schema, for: shard) }
            }
        )
    }

    /// Checks the operator's schemas now.
    ///
    /// The registry's schemas need no check: missing ones are fetched again within seconds.
    func lookNow() {
        directory?.lookNow()
    }

    func stop() {
        directory?.stop()
        registry?.stop()
    }
}

extension Configuration.SchemaRegistry {
    /// Nil: no registry is configured.
    var access: RegistryAccess? {
        guard !urls.isEmpty else { return nil }
        var access = RegistryAccess(urls: urls, timeout: requestTimeout)
        access.caFile = caFile
        access.username = username
        if let password { access.password = { try Self.secret(password, "password") } }
        if let bearerToken {
            access.bearerToken = { try Self.secret(bearerToken, "bearer_token") }
        }
        return access
    }

    private static func secret(_ source: SecretSource, _ name: String) throws -> String {
        do throws(FileError) {
            return SecretText.line(of: try source.read(limit: Configuration.maxKeyFileByteCount))
        } catch {
            throw ServiceError(text: "schema_registry.\(source.key(name)): \(source) \(error)")
        }
    }
}
