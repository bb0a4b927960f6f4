import COpenSSL

/// ECDSA on P-256 with SHA-256 and deterministic nonces (RFC 6979).
///
/// The nonce is derived from the key and the message, so equal messages get equal signatures.
///
/// OpenSSL supports this from 3.2 on. This implementation works with every version, because the
/// bytes must not depend on the machine's version (decision 0037). All arithmetic is OpenSSL's.
/// Timing does not reveal secrets: k·G takes constant time for this kind of curve, the inverse is a
/// constant-time power with a public exponent, and all other operations on key or nonce are blinded
/// by a random factor.
@safe struct DeterministicECDSA: ~Copyable {
    private let group: OpaquePointer
    private let context: OpaquePointer
    /// The group order n; owned by the group.
    private let order: OpaquePointer
    /// The private key d.
    private let secret: OpaquePointer

    private static let byteCount = 32

    /// - Parameter key: A private key on P-256.
    init(_ key: PublicKeyPair) {
        guard let group = unsafe EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1),
            let order = unsafe EC_GROUP_get0_order(group),
            let context = unsafe BN_CTX_secure_new()
        else { fatalError("no P-256: \(OpenSSLErrors.takeText())") }
        var secret: OpaquePointer?
        // SAFETY: on success a number is stored, which `deinit` frees.
        guard unsafe EVP_PKEY_get_bn_param(key.raw, OSSL_PKEY_PARAM_PRIV_KEY, &secret) == 1,
            let secret = unsafe secret
        else { fatalError("no private key: \(OpenSSLErrors.takeText())") }
        unsafe BN_set_flags(secret, BN_FLG_CONSTTIME)
        unsafe (self.group, self.order) = (group, order)
        unsafe (self.context, self.secret) = (context, secret)
    }

    deinit {
        unsafe BN_clear_free(secret)
        unsafe BN_CTX_free(context)
        unsafe EC_GROUP_free(group)
    }

    /// Returns r and s, 32 big-endian octets each.
    func signature(ofDigest digest: [UInt8]) -> [UInt8] {
        unsafe BN_CTX_start(context)
        defer { unsafe BN_CTX_end(context) }
        let (hash, nonce, r, s) = unsafe (number(), number(), number(), number())
        // SAFETY: reads 32 octets. SHA-256 is as long as n, so the number is the whole digest
        // (2.3.2).
        unsafe must(BN_bin2bn(digest, Int32(Self.byteCount), hash) != nil)
        unsafe must(BN_nnmod(hash, hash, order, context) == 1)
        var nonces = unsafe NonceSource(secret: secret, hash: hash)
        while true {
            unsafe must(nonces.next(into: nonce))
            guard unsafe BN_is_zero(nonce) == 0, unsafe BN_ucmp(nonce, order) < 0 else { continue }
            unsafe BN_set_flags(nonce, BN_FLG_CONSTTIME)
            unsafe commit(to: nonce, r)
            unsafe answer(hash, nonce, r, s)
            if unsafe BN_is_zero(r) == 0 && BN_is_zero(s) == 0 {
                return unsafe octets(r) + octets(s)
            }
        }
    }

    /// Computes r = (k·G).x mod n.
    private func commit(to nonce: OpaquePointer, _ r: OpaquePointer) {
        guard let point = unsafe EC_POINT_new(group) else { fatalError("out of memory") }
        defer { unsafe EC_POINT_clear_free(point) }
        unsafe must(EC_POINT_mul(group, point, nonce, nil, nil, context) == 1)
        unsafe must(EC_POINT_get_affine_coordinates(group, point, r, nil, context) == 1)
        unsafe must(BN_nnmod(r, r, order, context) == 1)
    }

    /// Computes s = (b·k)⁻¹ · (b·z + b·r·d) mod n, with a random b that cancels out.
    private func answer(
        _ hash: OpaquePointer,
        _ nonce: OpaquePointer,
        _ r: OpaquePointer,
        _ s: OpaquePointer
    ) {
        unsafe BN_CTX_start(context)
        defer { unsafe BN_CTX_end(context) }
        let (blind, inverse, exponent) = unsafe (number(), number(), number())
        repeat {
            unsafe must(BN_priv_rand_range(blind, order) == 1)
        } while unsafe BN_is_zero(blind) == 1
        unsafe multiply(inverse, blind, nonce)
        unsafe BN_set_flags(inverse, BN_FLG_CONSTTIME)
        // n is prime, so the inverse is the power n - 2.
        unsafe must(BN_copy(exponent, order) != nil && BN_sub_word(exponent, 2) == 1)
        unsafe must(
            BN_mod_exp_mont_consttime(inverse, inverse, exponent, order, context, nil) == 1
        )
        unsafe multiply(s, blind, r)
        unsafe multiply(s, s, secret)
        unsafe multiply(blind, blind, hash)
        unsafe must(BN_mod_add_quick(s, s, blind, order) == 1)
        unsafe multiply(s, s, inverse)
    }

    private func multiply(_ product: OpaquePointer, _ a: OpaquePointer, _ b: OpaquePointer) {
        unsafe must(BN_mod_mul(product, a, b, order, context) == 1)
    }

    /// A number that lives until `BN_CTX_end`, and is wiped with the context.
    private func number() -> OpaquePointer {
        guard let number = unsafe BN_CTX_get(context) else { fatalError("out of memory") }
        return unsafe number
    }

    private func octets(_ number: OpaquePointer) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: Self.byteCount)
        // SAFETY: BN_bn2binpad writes exactly 32 octets, or fails.
        unsafe must(BN_bn2binpad(number, &octets, Int32(Self.byteCount)) == Self.byteCount)
        return octets
    }

    private func must(_ isDone: Bool) {
        guard isDone else { fatalError("cannot sign: \(OpenSSLErrors.takeText())") }
    }
}

/// The candidates for the nonce, in order (RFC 6979, 3.2).
///
/// Uses one block of memory, which is wiped: anyone who knows a nonce can compute the key.
@safe private struct NonceSource: ~Copyable {
    /// K, V, the octet after V, the private key, the hash, and space for the next K or V.
    private enum Place {
        static let key = 0
        static let value = 32
        static let step = 64
        static let secret = 65
        static let hash = 97
        static let code = 129
        static let end = 161
    }

    private let memory: UnsafeMutablePointer<UInt8>
    private var isFirst = true

    init(secret: OpaquePointer, hash: OpaquePointer) {
        unsafe memory = .allocate(capacity: Place.end)
        unsafe memory.initialize(repeating: 0, count: Place.end)
        unsafe (memory + Place.value).update(repeating: 1, count: 32)
        // SAFETY: each writes exactly 32 octets, or fails.
        let isWritten =
            unsafe BN_bn2binpad(secret, memory + Place.secret, 32) == 32
            && BN_bn2binpad(hash, memory + Place.hash, 32) == 32
        precondition(isWritten, "a number beyond n")
        for step: UInt8 in [0, 1] { stir(step, byteCount: Place.code - Place.value) }
    }

    deinit {
        unsafe OPENSSL_cleanse(memory, Place.end)
        unsafe memory.deallocate()
    }

    /// - Returns: whether the number could be stored.
    mutating func next(into nonce: OpaquePointer) -> Bool {
        if !isFirst { stir(0, byteCount: Place.secret - Place.value) }
        isFirst = false
        mix(byteCount: 32, into: Place.value)
        // SAFETY: reads 32 octets.
        return unsafe BN_bin2bn(memory + Place.value, 32, nonce) != nil
    }

    /// Computes the next K from `byteCount` octets starting at V, and then the next V.
    private func stir(_ step: UInt8, byteCount: Int) {
        unsafe memory[Place.step] = step
        mix(byteCount: byteCount, into: Place.key)
        mix(byteCount: 32, into: Place.value)
    }

    private func mix(byteCount: Int, into place: Int) {
        var count: UInt32 = 0
        // SAFETY: reads the 32 octets of K and `byteCount` octets from V on, writes the 32 of
        // SHA-256.
        let code = unsafe HMAC(
            EVP_sha256(),
            memory + Place.key,
            32,
            memory + Place.value,
            byteCount,
            memory + Place.code,
            &count
        )
        unsafe precondition(code != nil && count == 32, "no HMAC-SHA256")
        unsafe (memory + place).update(from: memory + Place.code, count: 32)
    }
}
