import Glibc
import HTTP2IO
import JSON
import Vocabulary

/// One line of JSON per request, gathered per turn of the loop.
struct RequestLog {
    private let fileDescriptor: Int32
    private var pending: [UInt8] = []

    init(fileDescriptor: Int32) {
        self.fileDescriptor = fileDescriptor
    }

    mutating func append(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ body: [UInt8],
        _ answer: Answer,
        _ environment: APNsEnvironment,
        now: Timestamp
    ) {
        // The writer has the only reference, or each line would copy all the others.
        let gathered = pending
        pending = []
        var writer = JSONWriter(buffer: consume gathered)
        writer.beginObject()
        writer.name("time")
        writer.integer(now.milliseconds)
        writer.name("environment")
        writer.string(environment.rawValue)
        writer.name("token")
        let path = head[.path].map { bytes[$0] } ?? []
        let token = path.starts(with: "/3/device/".utf8) ? path.dropFirst(10) : path
        writer.string(String(decoding: token, as: UTF8.self))
        let texts: [(String, RequestHead.Name)] = [
            ("apns-id", .apnsID), ("topic", .topic), ("push_type", .pushType),
            ("collapse_id", .collapseID),
        ]
        for (name, field) in texts {
            writer.name(name)
            writer.string(Self.text(head[field], bytes))
        }
        for (name, field) in [("priority", RequestHead.Name.priority), ("expiration", .expiration)]
        {
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
        writer.endObject()
        pending = (consume writer).bytes
        pending.append(UInt8(ascii: "\n"))
    }

    private static func text(_ range: Range<Int>?, _ bytes: [UInt8]) -> String? {
        range.map { String(decoding: bytes[$0], as: UTF8.self) }
    }

    /// Writes what was gathered; lines that the descriptor refuses are lost.
    mutating func flush() {
        var start = 0
        while start < pending.count {
            let written = unsafe pending.withUnsafeBytes { bytes in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[start...])
                // SAFETY: reads the bytes that are told, and keeps no pointer.
                return unsafe write(fileDescriptor, rest.baseAddress, rest.count)
            }
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { break }
            start += written
        }
        pending.removeAll(keepingCapacity: true)
    }
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
