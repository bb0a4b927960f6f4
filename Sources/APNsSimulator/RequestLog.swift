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
            writer.name("status")
            if let status = answer.status { writer.integer(status) } else { writer.null() }
            writer.name("reason")
            writer.string(answer.word)
        }
    }

    private static func text(_ range: Range<Int>?, _ bytes: [UInt8]) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    mutating func flush() { lines.flush() }
}

extension Answer {
    /// The reason, or a word in its place.
    fileprivate var word: String? {
        switch self {
        case .accepted: nil
        case .refused(let refusal): refusal.reason.rawValue
        case .html: "html"
        case .bare: "bare"
        case .reset(.refusedStream): "refused"
        case .reset: "reset"
        case .silence: "silence"
        case .connection(let fault): fault.word
        case .channel(let answer): answer.reason
        }
    }
}
