import Glibc

/// The address on which a server listens.
package struct HTTPAddress: Hashable, Sendable, CustomStringConvertible {
    /// An IP address, or `localhost`.
    package let host: String
    /// 0: the kernel chooses a free port.
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// Why a server cannot listen.
package enum HTTPServerError: Error, Hashable, Sendable, CustomStringConvertible {
    case notAnAddress(String)
    case addressInUse(HTTPAddress)
    case failed(HTTPAddress, cause: String)

    /// Turns the `errno` of a failed call into an error.
    init(_ code: Int32, _ address: HTTPAddress) {
        self = code == EADDRINUSE ? .addressInUse(address) : .failed(address, cause: text(of: code))
    }

    /// The text of strerror(3), without the address.
    package var cause: String {
        switch self {
        case .notAnAddress: "not an address"
        case .addressInUse: text(of: EADDRINUSE)
        case .failed(_, let cause): cause
        }
    }

    package var description: String {
        switch self {
        case .notAnAddress(let host): "'\(host)' is neither an IP address nor localhost"
        case .addressInUse(let address): "\(address) is in use by another process"
        case .failed(let address, let cause): "cannot listen on \(address): \(cause)"
        }
    }
}

/// The text of an `errno`.
func text(of code: Int32) -> String {
    // SAFETY: strerror returns a string that lives until this thread's next call (glibc 2.32).
    guard let text = unsafe strerror(code) else { return "error \(code)" }
    return unsafe String(cString: text)
}
