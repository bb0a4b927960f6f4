import Foundation
import Glibc
import Telemetry

/// The operating system's numbers about this process (proc(5)).
enum ProcessUsage {
    /// Nil if there is no `/proc`.
    static func now() -> ProcessMetrics.Usage? {
        guard let status = words(of: "/proc/self/stat"),
            let bootedAt = bootSeconds,
            let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        else { return nil }
        // Counted from the third field, which follows the command's name.
        func field(_ number: Int) -> Int64 {
            status.indices.contains(number - 3) ? Int64(status[number - 3]) ?? 0 : 0
        }
        let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
        guard ticks > 0 else { return nil }
        return ProcessMetrics.Usage(
            cpuNanoseconds: UInt64(max(0, (field(14) + field(15)) * (1_000_000_000 / ticks))),
            residentBytes: field(24) * Int64(sysconf(Int32(_SC_PAGESIZE))),
            virtualBytes: field(23),
            // Without the descriptor that lists them.
            openDescriptors: max(0, descriptors.count - 1),
            maxDescriptors: maxDescriptors,
            threads: Int(field(20)),
            startedAt: bootedAt * 1000 + field(22) * 1000 / ticks
        )
    }

    /// The fields of `stat` after the command's name, which may contain any character.
    private static func words(of path: String) -> [Substring]? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        return text[text.index(after: end)...].split(whereSeparator: \.isWhitespace)
    }

    private static let bootSeconds: Int64? = {
        let lines = try? String(contentsOfFile: "/proc/stat", encoding: .utf8)
            .split(separator: "\n")
        return lines?.first { $0.hasPrefix("btime ") }.flatMap { Int64($0.dropFirst(6)) }
    }()

    private static var maxDescriptors: Int64 {
        var limit = rlimit()
        // SAFETY: getrlimit writes one rlimit.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        else { return 0 }
        return Int64(clamping: limit.rlim_cur)
    }
}
