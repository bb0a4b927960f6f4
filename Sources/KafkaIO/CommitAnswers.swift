import CRdkafka
import Synchronization

/// What the coordinator said of each partition of a commit that did not wholly succeed.
///
/// The event of a commit says less: the library has written the error of the last partition that was
/// refused to all that were not. An interceptor hears of the answer before that. It runs on the
/// library's main thread, which then queues the event.
///
/// Safe to share: the state is locked.
final class CommitAnswers: Sendable {
    private let last = Mutex<[PartitionAnswer]?>(nil)

    /// Hears of the commits of the instance that is made with these properties.
    ///
    /// Nothing says when the instance is through with it, so it is never freed.
    func listen(to conf: OpaquePointer?) {
        let me = unsafe Unmanaged.passRetained(self).toOpaque()
        // The library takes this interceptor in the one for new instances only.
        unsafe rd_kafka_conf_interceptor_add_on_new(
            conf,
            "commits",
            { instance, _, me, _, _ in
                unsafe rd_kafka_interceptor_add_on_commit(
                    instance,
                    "commits",
                    { _, offsets, code, me in
                        guard code != RD_KAFKA_RESP_ERR_NO_ERROR, let me = unsafe me else {
                            return RD_KAFKA_RESP_ERR_NO_ERROR
                        }
                        // SAFETY: `listen` has made it, and it is never freed.
                        let answers = unsafe Unmanaged<CommitAnswers>.fromOpaque(me)
                            .takeUnretainedValue()
                        answers.commitFailed(unsafe PartitionList.elements(of: offsets))
                        return RD_KAFKA_RESP_ERR_NO_ERROR
                    },
                    me
                )
            },
            me
        )
    }

    /// What was said of the commit whose event has come; nil: nothing but what the event says.
    func take() -> [PartitionAnswer]? {
        last.withLock { answers in
            defer { answers = nil }
            return answers
        }
    }

    private func commitFailed(_ answers: [PartitionAnswer]) {
        last.withLock { $0 = answers }
    }
}
