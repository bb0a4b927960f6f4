#!/bin/sh
# Creates the topics of deploy/heliograph/*.yaml for the demo, with one replica: not for production.
# Existing topics are not changed.
set -eu

# create NAME PARTITIONS SETTING...
create() {
    name=$1 partitions=$2
    shift 2
    for setting; do
        set -- "$@" --config "$setting"
        shift
    done
    /opt/kafka/bin/kafka-topics.sh --bootstrap-server "$BOOTSTRAP_SERVERS" --create --if-not-exists \
        --topic "$name" --partitions "$partitions" --replication-factor 1 "$@"
}

day=86400000
create notifications 6 retention.ms=$((7 * day))
create notifications.results 6 retention.ms=$((7 * day))
# Compacted: keeps the newest status of each token, and tombstones long enough for every reader.
create notifications.token-status 6 cleanup.policy=compact delete.retention.ms=$((7 * day))
create notifications.dead-letters 6 retention.ms=$((30 * day))
# One per delay in retry.later; retained longer than retry.give_up_after.
create notifications.retry.1m 6 retention.ms=$((7 * day))
create notifications.retry.15m 6 retention.ms=$((7 * day))
