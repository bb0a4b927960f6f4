import Vocabulary

extension Metrics {
    var eventFamilies: [MetricFamily] {
        [
            .counters(
                "events_consumed_total",
                "Events read from Kafka, by framing and topic; each recipient counts as one.",
                of: shards,
                grid: \.eventsConsumed
            ) { [.init("framing", $1.rawValue), .init("topic", lists.topics[$0])] },
            .counter(
                "recipients_total",
                "Recipients of events with 'recipients'; included in events_consumed_total.",
                of: shards,
                \.recipients
            ),
            .counter(
                "tombstones_total",
                "Records without a value: skipped.",
                of: shards,
                \.tombstones
            ),
            .counters(
                "events_terminal_total",
                "Events whose terminal outcome Kafka acknowledged; credential '': none.",
                of: shards,
                grid: \.outcomes
            ) { credentialLabels[$0] + [.init("outcome", $1.rawValue)] },
            .counters(
                "events_given_up_total",
                "Valid events that were given up; included in events_terminal_total.",
                of: shards,
                labels: credentialLabels
            ) { $0.eventsGivenUp[$1] },
            .gauges(
                "events_giving_up",
                "Shards that give up more than 1 % of the credential's events.",
                of: shards,
                labels: credentialLabels
            ) { $0.credentialsGivingUp[$1].value },
            .counters(
                "outcome_reasons_total",
                "Terminal outcomes by reason and by who decided; unknown reasons are 'other'.",
                of: shards,
                \.reasons
            ) { [.init("decided_by", $0.decidedBy.rawValue), .init("reason", $0.text)] },
            .gauge(
                "inflight_events",
                "Events in memory, until their outcome is acknowledged.",
                of: shards,
                \.inFlightEvents
            ),
            .gauge(
                "waiting_recipients",
                "Recipients of records in memory that wait to be events in flight, or for others to"
                    + " be retried with.",
                of: shards,
                \.waitingRecipients
            ),
            .gauge(
                "inflight_bytes",
                "Bytes of keys, values and headers of the events in flight.",
                of: shards,
                \.inFlightBytes
            ),
            .counter(
                "events_deferred_total",
                "Events moved to a retry topic, as acknowledged by Kafka.",
                of: shards,
                \.deferred
            ),
            .counter(
                "events_returned_total",
                "Events consumed from a retry topic; included in events_consumed_total.",
                of: shards,
                \.returned
            ),
            .counter(
                "events_released_total",
                "Events handed back unfinished; their partition's next owner consumes them again.",
                of: shards,
                \.released
            ),
            .counter(
                "events_skipped_settled_total",
                "Records read again but settled according to the commit metadata: not"
                    + " consumed, not sent.",
                of: shards,
                \.skippedSettled
            ),
            .gauge(
                "waiting_for_due_events",
                "Events from retry topics that are not due; included in inflight_events.",
                of: shards,
                \.waitingForDue
            ),
            .gauge(
                "campaign_waiting_events",
                "Events in memory that wait because their campaign is paused or paced; included in"
                    + " inflight_events.",
                of: shards,
                \.awaitingCampaign
            ),
            .gauge(
                "events_unaccounted",
                "Consumed minus terminal, in flight, waiting recipients, deferred and released;"
                    + " anything but 0 is a bug.",
                value: unaccounted.map { "\($0)" }
            ),
            .histograms(
                "end_to_end_seconds",
                "Seconds from the event's own time to its terminal outcome, except cancelled; round:"
                    + " first, or later after a retry topic.",
                of: shards,
                EndToEnd.labelled(lists)
            ) { $0.endToEnd[$1] },
        ]
    }

    /// Events without a credential have an empty label, which cannot be a credential's name.
    private var credentialLabels: [[MetricFamily.Label]] {
        (lists.credentials + [""]).map { [.init("credential", $0)] }
    }

    /// Nil if a shard's numbers could not be read consistently.
    private var unaccounted: Int64? {
        var sum: Int64 = 0
        for shard in shards {
            guard let accounting = shard.accounting.read() else { return nil }
            sum &+= accounting.unaccounted
        }
        return sum
    }
}
