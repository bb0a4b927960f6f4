import Glibc

/// An IPv4 or IPv6 address with a port.
public struct SocketAddress: Hashable, Sendable, CustomStringConvertible {
    public enum Family: Hashable, Sendable {
        /// AF_INET
        case ipv4
        /// AF_INET6
        case ipv6
    }

    public let family: Family
    public var port: UInt16
    /// The address's octets in network order; IPv4 uses the first four.
    private let octets: (UInt64, UInt64)
    /// `sin6_scope_id`: the interface of a link-local address.
    private let scope: UInt32

    /// The loopback address, 127.0.0.1 or ::1.
    public static func loopback(_ family: Family = .ipv4, port: UInt16) -> SocketAddress {
        switch family {
        case .ipv4: SocketAddress(ipv4: UInt32(0x7F00_0001).bigEndian, port: port)
        case .ipv6: SocketAddress(.ipv6, (0, UInt64(1).bigEndian), scope: 0, port: port)
        }
    }

    /// The wildcard address of the family, for listening: 0.0.0.0 or ::.
    public static func any(_ family: Family = .ipv4, port: UInt16) -> SocketAddress {
        SocketAddress(family, (0, 0), scope: 0, port: port)
    }

    /// Parses a numeric address; does not resolve names.
    public init?(numeric text: String, port: UInt16) {
        var four = in_addr()
        var six = in6_addr()
        if unsafe inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: four.s_addr, port: port)
        } else if unsafe inet_pton(AF_INET6, text, &six) == 1 {
            self.init(ipv6: six, scope: 0, port: port)
        } else {
            return nil
        }
    }

    /// Reads an address that getaddrinfo, accept or getsockname filled in.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch Int32(storage.ss_family) {
        case AF_INET:
            // SAFETY: the family shows that the storage holds a sockaddr_in.
            let four = unsafe withUnsafeBytes(of: &storage) { unsafe $0.load(as: sockaddr_in.self) }
            self.init(ipv4: four.sin_addr.s_addr, port: UInt16(bigEndian: four.sin_port))
        case AF_INET6:
            // SAFETY: the family shows that the storage holds a sockaddr_in6.
            let six = unsafe withUnsafeBytes(of: &storage) { unsafe $0.load(as: sockaddr_in6.self) }
            self.init(
                ipv6: six.sin6_addr,
                scope: six.sin6_scope_id,
                port: UInt16(bigEndian: six.sin6_port)
            )
        default:
            return nil
        }
    }

    private init(ipv4 address: UInt32, port: UInt16) {
        self.init(.ipv4, (UInt64(address), 0), scope: 0, port: port)
    }

    private init(ipv6 address: in6_addr, scope: UInt32, port: UInt16) {
        // SAFETY: in6_addr and the pair are both 16 octets without padding.
        self.init(
            .ipv6,
            unsafe unsafeBitCast(address, to: (UInt64, UInt64).self),
            scope: scope,
            port: port
        )
    }

    private init(_ family: Family, _ octets: (UInt64, UInt64), scope: UInt32, port: UInt16) {
        self.family = family
        self.octets = octets
        self.scope = scope
        self.port = port
    }

    /// The address without the port, as text.
    public var host: String {
        var octets = octets
        return unsafe withUnsafeTemporaryAllocation(
            of: CChar.self,
            capacity: Int(INET6_ADDRSTRLEN)
        ) { text in
            let family = family == .ipv4 ? AF_INET : AF_INET6
            // SAFETY: INET6_ADDRSTRLEN bytes hold the text of either family, including the NUL.
            guard
                let base = text.baseAddress,
                unsafe inet_ntop(family, &octets, base, socklen_t(INET6_ADDRSTRLEN)) != nil
            else { return "?" }
            return unsafe String(cString: base)
        }
    }

    public var description: String {
        family == .ipv4 ? "\(host):\(port)" : "[\(host)]:\(port)"
    }

    var domain: Int32 { family == .ipv4 ? AF_INET : AF_INET6 }

    /// Calls `body` with the address in the form that system calls take.
    func withSocketAddress<Value>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        switch family {
        case .ipv4:
            var four = sockaddr_in()
            four.sin_family = sa_family_t(AF_INET)
            four.sin_port = port.bigEndian
            four.sin_addr.s_addr = UInt32(truncatingIfNeeded: octets.0)
            return unsafe Self.lend(&four, body)
        case .ipv6:
            var six = sockaddr_in6()
            six.sin6_family = sa_family_t(AF_INET6)
            six.sin6_port = port.bigEndian
            // SAFETY: in6_addr and the pair are both 16 octets without padding.
            unsafe six.sin6_addr = unsafeBitCast(octets, to: in6_addr.self)
            six.sin6_scope_id = scope
            return unsafe Self.lend(&six, body)
        }
    }

    private static func lend<Address, Value>(
        _ address: inout Address,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value
    ) -> Value {
        unsafe withUnsafePointer(to: &address) { pointer in
            // SAFETY: every sockaddr_… starts like a sockaddr, and the length is passed.
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    public static func == (left: SocketAddress, right: SocketAddress) -> Bool {
        left.family == right.family && left.port == right.port && left.scope == right.scope
            && left.octets == right.octets
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(family)
        hasher.combine(port)
        hasher.combine(scope)
        hasher.combine(octets.0)
        hasher.combine(octets.1)
    }
}

extension [SocketAddress] {
    /// The addresses shuffled within each family; the order of the families stays.
    public func shuffledWithinFamilies(
        using generator: inout some RandomNumberGenerator
    ) -> [SocketAddress] {
        guard let leader = first?.family else { return [] }
        return filter { $0.family == leader }.shuffled(using: &generator)
            + filter { $0.family != leader }.shuffled(using: &generator)
    }
}
