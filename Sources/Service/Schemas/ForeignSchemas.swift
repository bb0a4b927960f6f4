import EventSchema
import RegistryIO
import Telemetry
import Vocabulary

/// The schemas that others wrote, for all shards: the operator's, and the registry's.
struct ForeignSchemas: Sendable {
    /// Nil: `schemas.directory` is not set.
    let directory: SchemaDirectory?
    /// Nil: `schema_registry.url` is not set.
    let registry: SchemaRegistry?

    /// Compiles the operator's schemas and starts the threads; `stop` ends them.
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

    /// Has the operator's schemas read without waiting for their time.
    ///
    /// The registry's need none: what it lacks is asked for again within seconds.
    func lookNow() {
        directory?.lookNow()
    }

    func stop() {
        directory?.stop()
        registry?.stop()
    }
}

extension Configuration.SchemaRegistry {
    /// Nil: there is no registry.
    var access: RegistryAccess? {
        guard !urls.isEmpty else { return nil }
        var access = RegistryAccess(urls: urls, timeout: requestTimeout)
        access.caFile = caFile
        access.username = username
        if let file = passwordFile {
            access.password = { try Self.secret(in: file, of: "schema_registry.password_file") }
        }
        if let file = bearerTokenFile {
            access.bearerToken = {
                try Self.secret(in: file, of: "schema_registry.bearer_token_file")
            }
        }
        return access
    }

    /// A file's text without the line end that editors put there.
    private static func secret(in file: String, of key: String) throws -> String {
        do throws(FileError) {
            let bytes = try BoundedFile.read(file, limit: Configuration.maxKeyFileByteCount)
            var text = String(decoding: bytes, as: UTF8.self)
            while text.last?.isNewline == true { text.removeLast() }
            return text
        } catch {
            throw ServiceError(text: "\(key): '\(file)' \(error)")
        }
    }
}
