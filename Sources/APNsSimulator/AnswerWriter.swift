import Vocabulary

/// Writes answers as APNs does; reuses its header block.
struct AnswerWriter {
    private var block = HeaderBlock()
    private var random: SeededGenerator
    private var makesLowercaseIDs: Bool
    private var alwaysSendsUniqueIDs: Bool
    /// The value of `date` for the second `dateSeconds`.
    private var date: [UInt8] = []
    private var dateSeconds = Int64.min

    init(seed: UInt64, _ strictness: Strictness) {
        random = SeededGenerator(seed: seed)
        makesLowercaseIDs = strictness.makesLowercaseIDs
        alwaysSendsUniqueIDs = strictness.alwaysSendsUniqueIDs
    }

    mutating func adopt(_ strictness: Strictness) {
        makesLowercaseIDs = strictness.makesLowercaseIDs
        alwaysSendsUniqueIDs = strictness.alwaysSendsUniqueIDs
    }

    /// Writes the headers of an answer that has a status.
    mutating func write(
        status: Int,
        contentType: String? = nil,
        retryAfterSeconds: Int? = nil,
        apnsID: ArraySlice<UInt8>?,
        environment: APNsEnvironment,
        now: Timestamp
    ) -> HeaderBlock {
        begin(status: status)
        appendID("apns-id", apnsID)
        if environment == .sandbox || alwaysSendsUniqueIDs { appendUniqueID() }
        end(contentType, retryAfterSeconds, now)
        return block
    }

    /// Writes the headers of an answer about channels.
    mutating func write(
        _ answer: ChannelAnswer,
        requestID: ArraySlice<UInt8>?,
        now: Timestamp
    ) -> HeaderBlock {
        begin(status: answer.status)
        appendID("apns-request-id", requestID)
        if let id = answer.channelID { block.append("apns-channel-id", id) }
        if answer.isBroadcast { appendUniqueID() }
        end(answer.body.isEmpty ? nil : "application/json", nil, now)
        return block
    }

    private mutating func begin(status: Int) {
        block.removeAll()
        if status == 200 {
            block.append(":status", "200")
        } else {
            block.append(":status", "\(status)")
        }
    }

    private mutating func end(
        _ contentType: String?,
        _ retryAfterSeconds: Int?,
        _ now: Timestamp
    ) {
        if let contentType { block.append("content-type", contentType) }
        if let retryAfterSeconds { block.append("retry-after", "\(retryAfterSeconds)") }
        if dateSeconds != now.seconds {
            dateSeconds = now.seconds
            date = Array(ResponseDate.text(now).utf8)
        }
        let date = date
        block.append("date".utf8.span, date.span)
    }

    private mutating func appendID(_ name: String, _ given: ArraySlice<UInt8>?) {
        if let given {
            return block.append(name.utf8.span, given.span, indexing: .nameIndexedOnce)
        }
        var id = random.uuid()
        if !makesLowercaseIDs {
            // APNs generates identifiers in upper case, contrary to its documentation.
            id = id.map { (0x61...0x66).contains($0) ? $0 & 0xDF : $0 }
        }
        block.append(name.utf8.span, id.span, indexing: .nameIndexedOnce)
    }

    private mutating func appendUniqueID() {
        let id = random.uuid()
        block.append("apns-unique-id".utf8.span, id.span, indexing: .nameIndexedOnce)
    }

    static let html = Array("<html><body><h1>Service Unavailable</h1></body></html>\n".utf8)
}

/// The `date` header (RFC 9110, sections 5.6.7 and 6.6.1).
enum ResponseDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func text(_ time: Timestamp) -> String {
        let days = Int(time.seconds >= 0 ? time.seconds / 86400 : (time.seconds - 86399) / 86400)
        let second = Int(time.seconds) - days * 86400
        let (year, month, day) = civil(days)
        // 1970-01-01 was a Thursday.
        let weekday = Self.days[((days % 7) + 7) % 7]
        return "\(weekday), \(padded(day)) \(months[month - 1]) \(year)"
            + " \(padded(second / 3600)):\(padded(second / 60 % 60)):\(padded(second % 60)) GMT"
    }

    /// The Gregorian date so many days after 1970-01-01, computed with years that start in March.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

extension SeededGenerator {
    /// Generates a version 4 UUID in lower case.
    fileprivate mutating func uuid() -> [UInt8] {
        APNsID(
            high: next() & ~0xF000 | 0x4000,
            low: next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        ).utf8
    }
}
