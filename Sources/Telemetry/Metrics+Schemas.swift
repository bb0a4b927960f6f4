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
                "Schemas asked for at the Schema Registry, by whether it answered.",
                table: schemas.registryFetches
            ) { [.init("result", $0.rawValue)] },
            .gauge(
                "schema_registry_schemas",
                "Schemas of the Schema Registry that are in use.",
                value: "\(schemas.registrySchemas.value)"
            ),
            .counters(
                "schemas_reloads_total",
                "Changes of schemas.directory, by whether its schemas could be taken.",
                table: schemas.reloads
            ) { [.init("result", $0.rawValue)] },
            .gauge(
                "schemas_last_load_timestamp_seconds",
                "When the schemas of schemas.directory in use were loaded; 0: there are none.",
                value: "\(schemas.loadedAt.value)"
            ),
        ]
    }
}
