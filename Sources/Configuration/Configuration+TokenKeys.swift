import Vocabulary

extension Configuration.Tokens {
    init(_ section: ConfigurationSection) {
        suppressUnregistered = section.value(
            "suppress_unregistered",
            .boolean,
            default: true,
            """
            Send nothing to a token after a 410, until an event has a later `token_registered_at`. \
            `results.token_status_topic` is read at startup for this.
            """
        )
        maxSuppressed = section.value(
            "max_suppressed",
            .integer(in: 1...100_000_000),
            default: 1_000_000,
            "Dead tokens remembered per process, 22 to 43 bytes each; beyond that, the"
                + " oldest are forgotten."
        )
        dedupWindow = section.value(
            "dedup_window",
            .integer(in: 0...10_000_000),
            default: 100_000,
            "How many notifications a shard remembers to detect duplicates; 0: off."
        )
        fuseMinimumAnswers = section.value(
            "fuse_minimum_answers",
            .integer(in: 0...100_000),
            default: 100,
            """
            Token fuse: the number of answers before a jump in refused tokens changes \
            `token_action` to `hold`; 0: off.
            """
        )
    }
}
