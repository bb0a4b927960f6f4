package import Vocabulary

/// How to reach a Schema Registry.
package struct RegistryAccess: Sendable {
    /// Base URLs without a trailing slash; tried in turn until one answers.
    package var urls: [String]
    /// The limit for one request.
    package var timeout: Duration
    /// PEM; nil: the system's root certificates.
    package var caFile: String?
    package var username: String?
    /// Reads the password; called before each schema, so that a rotated password takes effect.
    package var password: (@Sendable () throws -> String)?
    /// Reads the bearer token; called like `password`.
    package var bearerToken: (@Sendable () throws -> String)?

    package init(urls: [String], timeout: Duration) {
        self.urls = urls
        self.timeout = timeout
    }
}

/// Fetches schemas from a Schema Registry; every call blocks, so it has its own thread.
package struct RegistryClient: ~Copyable {
    private let access: RegistryAccess
    private let transfer: HTTPTransfer

    /// The most references that one schema may make the client fetch.
    private static let maxReferences = 64
    /// The largest size of a schema together with all that it refers to.
    private static let maxByteCount = HTTPTransfer.maxByteCount

    /// Makes a client without connecting.
    package init(_ access: RegistryAccess) throws(RegistryError) {
        self.access = access
        transfer = try HTTPTransfer()
    }

    /// Fetches a schema and everything that it refers to.
    ///
    /// - Parameter reference: The reference in the record.
    /// - Throws: `RegistryError` if the registry did not answer the question; it may do so later.
    /// - Returns: The registry's answer.
    package borrowing func fetch(
        _ reference: SchemaReference
    ) throws(RegistryError) -> RegistryVerdict {
        let options = try options()
        do throws(RegistryError) {
            return try fetch(reference, options)
        } catch .tooLarge {
            return .unusable(Self.tooLarge)
        } catch {
            throw error
        }
    }

    /// Checks one registry by asking for a schema ID that hardly exists, as a record would.
    ///
    /// - Parameter url: One of the base URLs.
    /// - Throws: `RegistryError` if the registry is unreachable or rejects the credentials.
    package borrowing func knock(at url: String) throws(RegistryError) {
        let answer = try transfer.get("\(url)/schemas/ids/\(Int32.max)", try options())
        _ = try RegistryAnswer.read(status: answer.status, answer.body)
    }

    private static let tooLarge =
        "the schema, with what it refers to, is larger than \(maxByteCount >> 20) MiB"

    private borrowing func fetch(
        _ reference: SchemaReference,
        _ options: HTTPTransfer.Options
    ) throws(RegistryError) -> RegistryVerdict {
        guard let answer = try get(reference.description, options) else { return .unknown }
        guard answer.type == "JSON" else {
            let type = answer.type.unicodeScalars.prefix(20)
            return .unusable(
                "schema \(reference.name) is \(String(type)); Heliograph reads JSON"
            )
        }
        var found = RegisteredText(text: answer.text)
        var pending = answer.references
        while let next = pending.popLast() {
            guard found.references[next.name] == nil else { continue }
            guard found.references.count < Self.maxReferences else {
                return .unusable("refers to more than \(Self.maxReferences) other schemas")
            }
            let path = "subjects/\(Self.escaped(next.subject))/versions/\(next.version)"
            guard let document = try get(path, options) else {
                return .unusable("refers to '\(next.name)', which the registry does not have")
            }
            found.references[next.name] = document.text
            guard found.byteCount <= Self.maxByteCount else { return .unusable(Self.tooLarge) }
            pending += document.references
        }
        return .found(found)
    }

    private func options() throws(RegistryError) -> HTTPTransfer.Options {
        var options = HTTPTransfer.Options(timeout: access.timeout, caFile: access.caFile)
        do {
            if let token = access.bearerToken {
                options.authorization = .bearer(try token())
            } else if let user = access.username {
                let password = try access.password?() ?? ""
                options.authorization = .basic(user: user, password: password)
            }
        } catch {
            throw .noSecret("\(error)")
        }
        return options
    }

    /// Returns the answer of the first registry that gives one; nil: no such schema exists.
    ///
    /// If all fail, the error of a registry that answered counts more than that of one that did
    /// not: one of two addresses may be down for a long time, and that says nothing about this
    /// schema.
    private borrowing func get(
        _ path: String,
        _ options: HTTPTransfer.Options
    ) throws(RegistryError) -> RegistryAnswer? {
        var failure = RegistryError.unreachable("no address")
        for url in access.urls {
            do throws(RegistryError) {
                let answer = try transfer.get("\(url)/\(path)", options)
                return try RegistryAnswer.read(status: answer.status, answer.body)
            } catch {
                if failure.concernsAll { failure = error }
            }
        }
        guard failure.concernsAll, isThere(options) else { throw failure }
        throw .failed(failure.description)
    }

    /// Whether any registry answers a request that no record causes, even with a client error.
    private borrowing func isThere(_ options: HTTPTransfer.Options) -> Bool {
        for url in access.urls {
            let answer = try? transfer.get("\(url)/schemas/types", options)
            if let answer, !RegistryAnswer.isFailure(status: answer.status) { return true }
        }
        return false
    }

    /// Percent-encodes a path segment: all but the unreserved characters (RFC 3986, section 2.3).
    static func escaped(_ segment: String) -> String {
        var text = ""
        for byte in segment.utf8 {
            let scalar = UnicodeScalar(byte)
            if scalar.isASCII,
                scalar.properties.isAlphabetic || "0123456789-._~".contains(Character(scalar))
            {
                text.unicodeScalars.append(scalar)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}
