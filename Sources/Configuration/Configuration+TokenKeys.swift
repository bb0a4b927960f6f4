import Vocabulary

extension Configuration.Tokens {
    init(_ section: ConfigurationSection) {
        suppressUnregistered = section.value(
            "suppress_unregistered",
            .boolean,
            default: true,
            """
            Send nothing to a token after a 410, until an event carries a later \
            `token_registered_at`; what `results.token_status_topic` knows is read at start.
            """
        )
        maxSuppressed = section.value(
            "max_suppressed",
            .integer(in: 1...100_000_000),
            default: 1_000_000,
            "Dead tokens remembered per process, 32 MiB a million; the oldest make room."
        )
        dedupWindow = section.value(
            "dedup_window",
            .integer(in: 0...10_000_000),
            default: 100_000,
            "Notifications per shard among which duplicates are found; 0: off."
        )
        fuseMinimumAnswers = section.value(
            "fuse_minimum_answers",
            .integer(in: 0...100_000),
            default: 100,
            """
            Answers that there must be before a jump of condemned tokens turns `token_action` \
            into `hold`; 0: off.
            """
        )
    }
}
