import HTTP2IO
import JSON
import Vocabulary

/// One line of JSON per request.
struct RequestLog {
    private var lines: LogLines

    init(fileDescriptor: Int32) {
        lines = LogLines(fileDescriptor: fileDescriptor)
    }

    mutating func append(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ answer: Answer,
        _ environment: APNsEnvironment,
        now: Timestamp
    ) {
        lines.append { writer in
            writer.name("time")
            writer.integer(now.milliseconds)
            writer.name("environment")
            writer.string(environment.rawValue)
            writer.name("token")
            writer.string(head.token(in: bytes))
            let texts: [(String, RequestHead.Name)] = [
                ("apns-id", .apnsID), ("topic", .topic), ("push_type", .pushType),
                ("collapse_id", .collapseID),
            ]
            for (name, field) in texts {
                writer.name(name)
                writer.string(Self.text(head[field], bytes))
            }
            let numbers: [(String, RequestHead.Name)] = [
                ("priority", .priority), ("expiration", .expiration),
            ]
            for (name, field) in numbers {
                writer.name(name)
                if let number = Self.text(head[field], bytes).flatMap(Int64.init) {
                    writer.integer(number)
                } else {
                    writer.null()
                }
            }
            writer.name("payload_sha256")
            writer.string(SHA256.hexadecimal(of: body))
            let (status, word) = answer.logged
            writer.name("status")
            if let status { writer.integer(status) } else { writer.null() }
            writer.name("reason")
            writer.string(word)
        }
    }

    private static func text(_ range: Range<Int>?, _ bytes: [UInt8]) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    mutating func flush() { lines.flush() }
}

extension Answer {
    /// The status, and the reason or what stands for it.
    fileprivate var logged: (status: Int?, word: String?) {
        switch self {
        case .accepted: (200, nil)
        case .refused(let refusal): (refusal.status, refusal.reason.rawValue)
        case .html(let status, _): (status, "html")
        case .bare(let status, _): (status, "bare")
        case .reset(.refusedStream): (nil, "refused")
        case .reset: (nil, "reset")
        case .silence: (nil, "silence")
        case .connection(let fault): (nil, fault.word)
        case .channel(let answer): (answer.status, answer.reason)
        }
    }
}
