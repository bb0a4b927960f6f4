import CRdkafka
import Synchronization

/// The coordinator's answers for each partition of a commit that was not fully successful.
///
/// The commit's event is less exact: librdkafka overwrites successful partitions with the error of
/// the last failed one. An interceptor sees the answer before that. It runs on the library's main
/// thread, which then queues the event.
///
/// Safe to share: the state is behind a lock.
final class CommitAnswers: Sendable {
    private let last = Mutex<[PartitionAnswer]?>(nil)

    /// Intercepts the commits of the instance that is created with this configuration.
    ///
    /// The library does not report when the interceptor is no longer used, so it is never freed.
    func listen(to conf: OpaquePointer?) {
        let me = unsafe Unmanaged.passRetained(self).toOpaque()
        // The library accepts this interceptor only from within the `on_new` interceptor.
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
                        // SAFETY: `listen` created it, and it is never freed.
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

    /// The answers for the commit whose event has arrived; nil: the event contains everything.
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
