"""What the system tests are built from: processes, Kafka, configuration and events."""
