package import Vocabulary

/// How to reach a Schema Registry.
package struct RegistryAccess: Sendable {
    /// Base addresses without a slash at their end; asked in turn until one answers.
    package var urls: [String]
    /// Of one request.
    package var timeout: Duration
    /// PEM; nil: the system's roots.
    package var caFile: String?
    package var username: String?
    /// Reads the password; asked before each schema, so that a rotated one is taken.
    package var password: (@Sendable () throws -> String)?
    /// Reads the bearer token; likewise.
    package var bearerToken: (@Sendable () throws -> String)?

    package init(urls: [String], timeout: Duration) {
        self.urls = urls
        self.timeout = timeout
    }
}

/// Asks a Schema Registry for schemas; every call blocks, so it has a thread of its own.
package struct RegistryClient: ~Copyable {
    private let access: RegistryAccess
    private let transfer: HTTPTransfer

    /// Bounds what one schema can make us fetch.
    private static let maxReferences = 64
    /// Of a schema with all that it refers to.
    private static let maxByteCount = HTTPTransfer.maxByteCount

    /// Makes a client; connects to nothing yet.
    package init(_ access: RegistryAccess) throws(RegistryError) {
        self.access = access
        transfer = try HTTPTransfer()
    }

    /// Fetches a schema and everything that it refers to.
    ///
    /// - Parameter reference: What a record named.
    /// - Throws: `RegistryError` when the registry did not say; it may later.
    /// - Returns: What the registry says of it.
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

    /// Asks one of the registries for a schema that there hardly is, as records would have it asked.
    ///
    /// - Parameter url: One of the addresses.
    /// - Throws: `RegistryError` when it is not there, or does not take the credentials.
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

    /// The answer of the first registry that gives one; nil: there is no such thing.
    ///
    /// A registry that refuses goes before one that does not answer: of two addresses one may be
    /// dead for long, and this schema does not show it.
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

    /// Whether a registry answers to what no record asks for, if only that it takes no such request.
    private borrowing func isThere(_ options: HTTPTransfer.Options) -> Bool {
        for url in access.urls {
            let answer = try? transfer.get("\(url)/schemas/types", options)
            if let answer, !RegistryAnswer.isFailure(status: answer.status) { return true }
        }
        return false
    }

    /// A segment of a path: all but RFC 3986's unreserved characters (2.3) as `%XX`.
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
