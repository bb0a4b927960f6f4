"""The building blocks of the system tests: processes, Kafka, configuration and events."""
