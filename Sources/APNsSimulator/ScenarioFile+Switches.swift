import JSON
import Vocabulary

/// Reads how strict APNs is, and its limits.
extension ScenarioFile {
    /// The names of the Boolean switches.
    package static var switches: [String] { flags.map(\.name) }

    private static var flags: [(name: String, path: WritableKeyPath<Strictness, Bool>)] {
        [
            ("push_type_required", \.requiresPushType),
            ("bind_connections", \.bindsConnections),
            ("text_issue_times", \.takesTextIssueTimes),
            ("refuse_extra_token_members", \.refusesExtraTokenMembers),
            ("tokens_of_64_digits", \.requires64Digits),
            ("json_payload", \.requiresJSONPayload),
            ("answer_bad_certificates", \.answersBadCertificates),
            ("omit_timestamps", \.omitsTimestamps),
            ("lowercase_ids", \.makesLowercaseIDs),
            ("unique_id_always", \.alwaysSendsUniqueIDs),
            ("goaway_over_stream_limit", \.endsConnectionsOverLimit),
        ]
    }

    static func readSwitches(
        _ reader: ScenarioReader,
        into scenario: inout Scenario
    ) throws(ScenarioError) {
        if let value = reader["strictness"] { scenario.strictness = try strictness(value) }
        if let value = reader["settings"] { scenario.settings = try settings(value) }
        if let value = reader["throttle"] { scenario.throttle = try throttle(value) }
        if let milliseconds = try reader.integer("idle_timeout_ms", in: 1...86_400_000) {
            scenario.idleTimeout = .milliseconds(milliseconds)
        }
        scenario.storageLoss = try reader.number("storage_loss", in: 0...1) ?? 0
        if let value = reader["device_rate"] {
            let rate = try ScenarioReader(
                value,
                path: "device_rate",
                allowed: ["burst", "per_second"]
            )
            scenario.deviceRate = DeviceRate(
                burst: Int(try rate.integer("burst", in: 1...1_000_000) ?? 1),
                perSecond: try rate.number("per_second", in: 0...1_000_000) ?? 1
            )
        }
    }

    private static func strictness(_ value: JSONValue) throws(ScenarioError) -> Strictness {
        let reader = try ScenarioReader(
            value,
            path: "strictness",
            allowed: switches + ["token_updates", "max_future_s", "check_order"]
        )
        var strictness = Strictness()
        for (name, path) in flags {
            if let flag = try reader.flag(name) { strictness[keyPath: path] = flag }
        }
        if let text = try reader.text("token_updates") {
            guard let scope = Strictness.TokenUpdateScope(rawValue: text) else {
                throw reader.wrong("token_updates", "off, connection, key or team")
            }
            strictness.tokenUpdates = scope
        }
        if let seconds = try reader.integer("max_future_s", in: 0...86400) {
            strictness.maxFutureSeconds = seconds
        }
        if let names = try reader.texts("check_order") {
            let checks = names.compactMap(Strictness.Check.init(rawValue:))
            guard checks.count == names.count, names.count == Strictness.Check.allCases.count,
                Set(checks).count == checks.count
            else {
                let all = Strictness.Check.allCases.map(\.rawValue).joined(separator: ", ")
                throw reader.wrong("check_order", "needs each once: \(all)")
            }
            strictness.checkOrder = checks
        }
        return strictness
    }

    private static func settings(_ value: JSONValue) throws(ScenarioError) -> WireSettings {
        typealias Entry = (
            name: String, path: WritableKeyPath<WireSettings, UInt32>, range: ClosedRange<Int64>
        )
        let entries: [Entry] = [
            ("header_table_size", \.headerTableSize, 0...65536),
            ("unproven_streams", \.unprovenStreams, 0...1_000_000),
            ("proven_streams", \.provenStreams, 0...1_000_000),
            ("initial_window_size", \.initialWindowSize, 0...0x7FFF_FFFF),
            ("max_frame_size", \.maxFrameSize, 16384...16_777_215),
            ("max_header_list_size", \.maxHeaderListSize, 256...1_048_576),
        ]
        let reader = try ScenarioReader(value, path: "settings", allowed: entries.map(\.name))
        var settings = WireSettings()
        for entry in entries {
            if let number = try reader.integer(entry.name, in: entry.range) {
                settings[keyPath: entry.path] = UInt32(number)
            }
        }
        return settings
    }

    private static func throttle(_ value: JSONValue) throws(ScenarioError) -> ErrorThrottle {
        let reader = try ScenarioReader(
            value,
            path: "throttle",
            allowed: ["on", "step", "bad_device_token_weight", "close_at"]
        )
        var throttle = ErrorThrottle()
        throttle.isOn = try reader.flag("on") ?? true
        if let step = try reader.integer("step", in: 1...1_000_000) { throttle.step = Int(step) }
        if let weight = try reader.integer("bad_device_token_weight", in: 0...1000) {
            throttle.badDeviceTokenWeight = Int(weight)
        }
        if let score = try reader.integer("close_at", in: 0...1_000_000_000) {
            // 0 means never.
            throttle.closesAt = score == 0 ? nil : Int(score)
        }
        return throttle
    }
}
