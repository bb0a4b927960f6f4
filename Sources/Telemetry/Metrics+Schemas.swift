extension Metrics {
    var schemaFamilies: [MetricFamily] {
        [
            .gauge(
                "events_awaiting_schema",
                "Events in flight whose schema is being fetched from the Schema Registry.",
                of: shards,
                \.awaitingSchema
            ),
            .counters(
                "schema_registry_fetches_total",
                "Requests to the Schema Registry, by result.",
                table: schemas.registryFetches
            ) { [.init("result", $0.rawValue)] },
            .gauge(
                "schema_registry_schemas",
                "Schemas of the Schema Registry that are in use.",
                value: "\(schemas.registrySchemas.value)"
            ),
            .counters(
                "schemas_reloads_total",
                "Reloads of schemas.directory, by result.",
                table: schemas.reloads
            ) { [.init("result", $0.rawValue)] },
            .gauge(
                "schemas_last_load_timestamp_seconds",
                "Time at which the schemas of schemas.directory in use were loaded; 0: none.",
                value: "\(schemas.loadedAt.value)"
            ),
        ]
    }
}
