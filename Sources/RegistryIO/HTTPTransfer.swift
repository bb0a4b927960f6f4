import CCurl

/// An answer with any status.
struct HTTPAnswer: Hashable, Sendable {
    var status: Int
    var body: [UInt8]
}

/// Transfers over libcurl, one at a time; used by one thread.
///
/// A transfer blocks. Its connection is kept for the next one.
@safe struct HTTPTransfer: ~Copyable {
    /// The credentials of a request.
    enum Authorization: Sendable {
        case basic(user: String, password: String)
        case bearer(String)
    }

    struct Options: Sendable {
        /// The limit for a whole transfer, including the connection.
        var timeout: Duration
        /// PEM; nil: the system's root certificates.
        var caFile: String?
        var authorization: Authorization?
    }

    /// The longest answer that is accepted.
    static let maxByteCount = 4 << 20

    // SAFETY: made in `init`, freed only in `deinit`, and never passed out.
    private let handle: UnsafeMutableRawPointer

    /// The result of curl_global_init, which must not run concurrently: a static runs it once.
    private static let initialized = hg_curl_global_init()

    init() throws(RegistryError) {
        guard Self.initialized == CURLE_OK, let handle = unsafe curl_easy_init()
        else { throw .unreachable("libcurl cannot start") }
        unsafe self.handle = unsafe handle
    }

    deinit { unsafe curl_easy_cleanup(handle) }

    /// Sends a GET and waits for the answer; redirects are not followed.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - options: Timeout, trust and credentials.
    /// - Throws: `RegistryError.unreachable` without an answer, `tooLarge` if it is too long.
    /// - Returns: The answer, whatever its status.
    borrowing func get(_ url: String, _ options: Options) throws(RegistryError) -> HTTPAnswer {
        let handle = unsafe handle
        unsafe curl_easy_reset(handle)
        let headers = HeaderList("Accept: application/vnd.schemaregistry.v1+json, */*;q=0.5")
        var codes = unsafe [
            hg_curl_set_text(handle, CURLOPT_URL, url),
            hg_curl_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https"),
            hg_curl_set_headers(handle, headers.first),
            // Without this, the variable `http_proxy` would decide who sees the credentials.
            hg_curl_set_text(handle, CURLOPT_PROXY, ""),
            // Without this, a DNS timeout would raise a signal.
            hg_curl_set_long(handle, CURLOPT_NOSIGNAL, 1),
            hg_curl_set_long(handle, CURLOPT_TIMEOUT_MS, options.timeout.wholeMilliseconds),
            hg_curl_set_long(handle, CURLOPT_MAXFILESIZE, Self.maxByteCount),
        ]
        if let file = options.caFile {
            unsafe codes.append(hg_curl_set_text(handle, CURLOPT_CAINFO, file))
        }
        unsafe codes += Self.authorize(handle, options.authorization)
        let body = Body(limit: Self.maxByteCount)
        // SAFETY: `body` outlives the transfer; it is read below.
        let context = unsafe Unmanaged.passUnretained(body).toOpaque()
        unsafe codes.append(hg_curl_set_receiver(handle, receiveBytes, context))
        if let code = codes.first(where: { $0 != CURLE_OK }) { throw Self.error(code) }
        let code = unsafe curl_easy_perform(handle)
        let status = unsafe hg_curl_status(handle)
        withExtendedLifetime((headers, body)) {}
        guard code == CURLE_OK else {
            let isTooLarge = body.isTooLarge || code == CURLE_FILESIZE_EXCEEDED
            throw isTooLarge ? .tooLarge : Self.error(code)
        }
        return HTTPAnswer(status: status, body: body.bytes)
    }

    private static func authorize(
        _ handle: UnsafeMutableRawPointer,
        _ authorization: Authorization?
    ) -> [CURLcode] {
        switch authorization {
        case .basic(let user, let password):
            unsafe [
                hg_curl_set_long(handle, CURLOPT_HTTPAUTH, hg_curl_basic),
                hg_curl_set_text(handle, CURLOPT_USERNAME, user),
                hg_curl_set_text(handle, CURLOPT_PASSWORD, password),
            ]
        case .bearer(let token):
            unsafe [
                hg_curl_set_long(handle, CURLOPT_HTTPAUTH, hg_curl_bearer),
                hg_curl_set_text(handle, CURLOPT_XOAUTH2_BEARER, token),
            ]
        case nil: []
        }
    }

    private static func error(_ code: CURLcode) -> RegistryError {
        // SAFETY: curl_easy_strerror returns static strings.
        unsafe .unreachable(String(cString: curl_easy_strerror(code)))
    }
}

/// The bytes that a transfer has received.
private final class Body {
    private(set) var bytes: [UInt8] = []
    private(set) var isTooLarge = false
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: false if the body would exceed the limit.
    func append(_ chunk: UnsafeRawBufferPointer) -> Bool {
        isTooLarge = bytes.count + chunk.count > limit
        if !isTooLarge { unsafe bytes.append(contentsOf: chunk) }
        return !isTooLarge
    }
}

/// The callback of CURLOPT_WRITEFUNCTION(3): a count other than the given one ends the transfer.
@c private func receiveBytes(
    bytes: UnsafeMutablePointer<CChar>?,
    size: Int,
    count: Int,
    context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    // SAFETY: the context is the `Body` that `get` keeps alive.
    let body = unsafe Unmanaged<Body>.fromOpaque(context).takeUnretainedValue()
    let chunk = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe body.append(chunk) ? size * count : 0
}

/// The header lines of a request.
@safe private final class HeaderList {
    // SAFETY: made in `init`, freed only in `deinit`.
    let first: UnsafeMutablePointer<curl_slist>?

    init(_ line: String) {
        unsafe first = curl_slist_append(nil, line)
    }

    deinit { unsafe curl_slist_free_all(first) }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
