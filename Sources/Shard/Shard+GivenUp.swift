import APNsRules
import Delivery
import Log
import Telemetry
import Vocabulary

/// Events that end although nothing is wrong with them: the metrics, the log and the status page
/// say so.
extension Shard {
    /// Counts what has ended, of the delivery's credential or of none.
    mutating func countGivenUp(_ arrival: Arrival, _ ending: Ending) {
        let credential = arrival.route?.credential ?? givenUp.count - 1
        guard arrival.isGivenUp(ending) else {
            givenUp[credential].eventEnded()
            return
        }
        givenUp[credential].eventGivenUp(because: ending.reason)
        metrics.eventsGivenUp[credential].add()
    }

    /// Tells when the share of such events has become large, or small again.
    mutating func watchGivenUp() {
        for credential in givenUp.indices {
            guard givenUp[credential].timeAdvanced(now: now.instant) else { continue }
            let share = givenUp[credential]
            metrics.credentialsGivingUp[credential].set(share.isLarge ? 1 : 0)
            let names = settings.engine.credentials
            var facts: LogFacts = [
                .credential: names.indices.contains(credential) ? names[credential].name : "none"
            ]
            guard share.isLarge else {
                log.notice("hardly any events are given up now", facts)
                continue
            }
            facts[.reason] = share.lastReason?.text
            facts[.problem] = "\(share.givenUp) of the last \(share.ended) events"
            log.warning("events are given up that nothing is wrong with", facts)
        }
    }
}
