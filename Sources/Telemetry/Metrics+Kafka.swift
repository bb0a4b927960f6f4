import Vocabulary

extension Metrics {
    /// Metrics about records written to Kafka.
    var producedFamilies: [MetricFamily] {
        [
            .counter(
                "results_produced_total",
                "Outcomes that Kafka acknowledged.",
                of: shards,
                \.resultsProduced
            ),
            .counter(
                "token_status_records_total",
                "Token-status records that Kafka acknowledged.",
                of: shards,
                \.tokenStatusRecords
            ),
            .counter(
                "campaign_tally_records_total",
                "Records of the tally topic that Kafka acknowledged.",
                of: shards,
                \.campaignTallyRecords
            ),
            .gauge(
                "campaign_outcomes_untallied",
                "Outcomes of campaigns that are in no tally, because too many campaigns and"
                    + " partitions are counted at once.",
                of: shards,
                \.untalliedOutcomes
            ),
            .counters(
                "dlq_total",
                "Dead letters that Kafka acknowledged, by reason and by who decided.",
                of: shards,
                \.deadLetters
            ) { [.init("decided_by", $0.decidedBy.rawValue), .init("reason", $0.text)] },
            .counters(
                "produce_errors_total",
                "Records that Kafka refused or did not acknowledge in time; they are retried.",
                of: shards,
                \.produceErrors
            ) { [.init("record", $0.rawValue)] },
            .counters(
                "records_dropped_total",
                "Records that are never written: too large, permanently refused, or too"
                    + " many waiting.",
                of: shards,
                \.recordsDropped
            ) { [.init("record", $0.rawValue)] },
        ]
    }

    /// Metrics about the consumer group.
    var groupFamilies: [MetricFamily] {
        [
            .counters(
                "commits_total",
                "Offset commits, by result.",
                of: shards,
                \.commits
            ) { [.init("result", $0.rawValue)] },
            .counter(
                "commit_metadata_refused_total",
                "Commits whose metadata was longer than the broker accepts; later ones contain"
                    + " less.",
                of: shards,
                \.commitMetadataRefused
            ),
            .gauge(
                "commit_metadata_dropped_recipients",
                "Settled recipients of unsettled records for which the last commits' metadata had"
                    + " no room; sent again after a crash.",
                of: shards,
                \.droppedRecipients
            ),
            .counters(
                "offsets_lost_total",
                "Number of times that Kafka did not have the next offset, by cause.",
                of: shards,
                \.offsetsLost
            ) { [.init("cause", $0.rawValue)] },
            .counter(
                "rebalances_total",
                "Rebalances of the consumer group seen by this process.",
                of: shards,
                \.rebalances
            ),
            .gauge(
                "partitions_assigned",
                "Partitions assigned to this process.",
                of: shards,
                \.assignedPartitions
            ),
        ]
    }
}
