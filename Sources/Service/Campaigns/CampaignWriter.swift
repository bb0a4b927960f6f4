import AdminHTTP
import CLinux
import EventCodec
import Foundation
import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Writes the orders that visitors of the admin port give.
///
/// It has a thread and a producer only while there are orders to write.
final class CampaignWriter: Sendable {
    private struct Job: Sendable {
        let request: CampaignRequest
        let reply: @Sendable (CampaignAnswer) -> Void
        /// Later, the visitor has no time left to learn of the order.
        let end: Instant
    }

    /// An order of this process that its reader may not have read yet.
    private struct Unread: Sendable {
        let order: CampaignOrder?
        /// What the reader knew before the order was written.
        let known: CampaignReader.Known
        let end: Instant
    }

    private struct State: Sendable {
        var jobs: [Job] = []
        var hasThread = false
    }

    private static let maxJobs = 16
    /// How long an order may wait for those before it.
    private static let patience = Duration.seconds(10)
    /// How long Kafka may take to acknowledge an order; with `patience`, less than the server's
    /// `maxWait`.
    private static let answerPatience = Duration.seconds(10)
    /// How long the process may need to read its own order.
    private static let readPatience = Duration.seconds(5)

    private let reader: CampaignReader
    private let log: Log
    private let state = Mutex(State())
    private let unread = Mutex<[CampaignName: Unread]>([:])

    /// - Parameters:
    ///   - reader: The reader of the topic to which the orders are written.
    ///   - log: The process's log.
    init(for reader: CampaignReader, log: Log) {
        self.reader = reader
        // Every line: only operators cause them, and each order matters.
        self.log = log.everyLine
    }

    /// Writes an order, and calls `reply` once, on another thread, or at once if it cannot.
    func write(_ request: CampaignRequest, reply: @escaping @Sendable (CampaignAnswer) -> Void) {
        guard reader.isLoaded else {
            // Without the current order, its pace would be lost.
            return reply(.unavailable("the orders of campaigns are not read yet; try again later"))
        }
        let job = Job(request: request, reply: reply, end: SystemClock.now + Self.patience)
        let (isTaken, needsThread) = state.withLock { state in
            guard state.jobs.count < Self.maxJobs else { return (false, false) }
            state.jobs.append(job)
            defer { state.hasThread = true }
            return (true, !state.hasThread)
        }
        guard isTaken else {
            return reply(.unavailable("too many orders are being written; try again later"))
        }
        guard needsThread else { return }
        let thread = Thread { [self] in
            unsafe heliograph_name_thread("orders")
            carryOutAll()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    // MARK: On the thread

    private func carryOutAll() {
        var producer: SingleRecordProducer?
        while let job = nextJob() {
            job.reply(carryOut(job, &producer))
        }
    }

    /// Nil: the thread ends.
    private func nextJob() -> Job? {
        state.withLock { state in
            guard !state.jobs.isEmpty else {
                state.hasThread = false
                return nil
            }
            return state.jobs.removeFirst()
        }
    }

    private func carryOut(_ job: Job, _ producer: inout SingleRecordProducer?) -> CampaignAnswer {
        let (request, campaign) = (job.request, job.request.campaign)
        guard SystemClock.now < job.end else {
            return .unavailable(
                "\(campaign): Kafka is slow, and nothing was written; try again later"
            )
        }
        let known = reader.known(of: campaign)
        let order: CampaignOrder?
        do throws(CampaignChange.Refusal) {
            let old = unreadOrder(of: campaign, known) ?? known.order
            order = try request.action.change.order(after: old, now: SystemClock.wallClock)
        } catch {
            return .refused("\(campaign) \(error.predicate)")
        }
        let open: SingleRecordProducer
        do throws(KafkaError) {
            if let producer {
                open = producer
            } else {
                open = try SingleRecordProducer(
                    bootstrapServers: reader.kafka.bootstrapServers,
                    properties: reader.kafka.properties
                )
                producer = open
            }
        } catch {
            return failed(request, because: "\(error)")
        }
        do throws(SingleRecordProducer.Failure) {
            try open.write(
                order?.value,
                key: campaign.utf8,
                to: reader.topic,
                within: Self.answerPatience
            )
        } catch {
            producer = nil
            return told(error, request)
        }
        noteUnread(order, of: campaign, known)
        let summary = (order ?? CampaignOrder(.running)).summary
        log.notice(
            "campaign order written",
            [.campaign: "\(campaign)", .order: order?.summary ?? "none", .user: request.user]
        )
        return .written("\(campaign): \(summary)")
    }

    private func told(
        _ failure: SingleRecordProducer.Failure,
        _ request: CampaignRequest
    ) -> CampaignAnswer {
        switch failure {
        case .unanswered:
            noteFailure(request, "no answer from Kafka")
            return .unanswered(
                "\(request.campaign): Kafka did not acknowledge the order; it may be written: check"
                    + " the current order before you retry"
            )
        case .refused(let error):
            let topic = reader.topic
            let cause =
                error.code == .topicAuthorizationFailed
                ? "the service has no right to write to '\(topic)'; give its principal Write on it"
                : "'\(topic)' cannot be written: \(error)"
            return failed(request, because: cause)
        }
    }

    private func failed(_ request: CampaignRequest, because cause: String) -> CampaignAnswer {
        noteFailure(request, cause)
        return .failed("\(request.campaign): nothing was written: \(cause)")
    }

    private func noteFailure(_ request: CampaignRequest, _ cause: String) {
        log.warning(
            "campaign order not written",
            [
                .campaign: "\(request.campaign)", .order: request.action.rawValue,
                .user: request.user, .error: cause,
            ]
        )
    }

    // MARK: Orders that are not read yet

    /// The outer nil: the reader knows everything.
    private func unreadOrder(
        of campaign: CampaignName,
        _ known: CampaignReader.Known
    ) -> CampaignOrder?? {
        unread.withLock { unread in
            unread = unread.filter { $0.value.end > SystemClock.now }
            guard let own = unread[campaign], own.known == known else { return nil }
            return .some(own.order)
        }
    }

    private func noteUnread(
        _ order: CampaignOrder?,
        of campaign: CampaignName,
        _ known: CampaignReader.Known
    ) {
        let own = Unread(order: order, known: known, end: SystemClock.now + Self.readPatience)
        unread.withLock { $0[campaign] = own }
    }
}

extension CampaignRequest.Action {
    fileprivate var change: CampaignChange {
        switch self {
        case .pause: .pause(until: nil)
        case .resume: .resume(isConfirmed: false)
        case .cancel: .cancel
        }
    }
}

extension CampaignChange.Refusal {
    /// Completes a sentence about the campaign.
    fileprivate var predicate: String {
        switch self {
        case .isCancelled: "is cancelled, so it cannot be paused"
        case .isUnconfirmed:
            "is cancelled; 'heliograph campaigns resume --yes' lets it run again, but events that"
                + " ended stay as they are"
        case .endsPause: "is paused"
        }
    }
}
