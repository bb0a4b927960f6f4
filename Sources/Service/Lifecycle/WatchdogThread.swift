import Foundation
import Log
import Shard
import SystemIO
import Telemetry
import Vocabulary

/// A thread that checks every shard once a second, and ends the process if one is stuck.
///
/// A stuck thread cannot be freed from outside. Ending loses nothing: events without an
/// acknowledged outcome are sent again after the supervisor has restarted the process.
enum WatchdogThread {
    /// `EX_TEMPFAIL` in sysexits.h: try again.
    static let exitCode: Int32 = 75
    /// How long to wait for the last log line.
    private static let secondsToLog: UInt32 = 1

    static func start(watching controls: [ShardControl], log: Log) {
        let thread = Thread { watch(controls, log) }
        thread.name = "watchdog"
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// Runs until the last shard has ended.
    private static func watch(_ controls: [ShardControl], _ log: Log) {
        var watchdogs = controls.map { _ in Watchdog() }
        while !controls.allSatisfy(\.hasEnded) {
            sleep(1)
            let now = SystemClock.now
            for (index, control) in controls.enumerated() {
                let verdict = watchdogs[index].looked(at: control.watchdogReading, now: now)
                guard let problem = problem(verdict) else { continue }
                endSoon()
                log.critical(
                    "shard is stuck; exiting",
                    [.shard: "\(index)", .problem: problem]
                )
                fflush(nil)
                _exit(exitCode)
            }
        }
    }

    /// Ends the process even if this thread does not return from logging.
    ///
    /// What holds up the shard may also hold a lock that logging needs.
    private static func endSoon() {
        Thread.detachNewThread {
            sleep(secondsToLog)
            _exit(exitCode)
        }
    }

    private static func problem(_ verdict: Watchdog.Verdict) -> String? {
        switch verdict {
        case .well: nil
        case .silent(let duration): "its loop has not turned for \(duration.components.seconds) s"
        case .stalled(let duration):
            "it has consumed no records for \(duration.components.seconds) s, although records are"
                + " waiting"
        }
    }
}
