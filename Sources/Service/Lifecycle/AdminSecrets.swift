import AdminHTTP
import Configuration
import Foundation
import HTTPServer
import Log
import Synchronization
import SystemIO
import Telemetry

/// The admin port's tokens and certificate, as defined by their files.
///
/// A thread of its own watches the files; see `ContentWatch`. Unusable contents are reported, and
/// the old ones stay in use.
final class AdminSecrets: Sendable {
    private struct State {
        var tokens: AdminTokens?
        var identity: ServerIdentity?
    }

    private struct Watches: Sendable {
        var tokens: ContentWatch<AdminFiles>
        var identity: ContentWatch<AdminFiles>
    }

    private let admin: Configuration.Admin
    private let log: Log
    let reloads = FileReloads()
    private let inUse: Mutex<State>
    private let thread: WatchThread

    /// Reads the files for the first time.
    init(_ admin: Configuration.Admin, log: Log) throws(ServiceError) {
        self.admin = admin
        // Every line, because operators cause them, and files are checked only once a second.
        self.log = log.everyLine
        let watches = Watches(
            tokens: ContentWatch(inUse: admin.tokenFiles),
            identity: ContentWatch(inUse: admin.identityFiles)
        )
        inUse = Mutex(
            State(
                tokens: try admin.tokens(in: watches.tokens.settled),
                identity: try admin.identity(in: watches.identity.settled)
            )
        )
        do throws(SystemError) {
            thread = try WatchThread()
        } catch {
            throw ServiceError(text: "cannot watch the files of admin: \(error)")
        }
        // Environment variables do not change, so there is nothing to watch.
        guard !admin.bearerToken.isVariable || admin.certificateFile != nil else { return }
        thread.start(named: "admin secrets", watches) { [weak self] watches, isAsked in
            self?.look(&watches, isAsked: isAsked)
        }
    }

    /// Nil: no token is required.
    var tokens: AdminTokens? { inUse.withLock(\.tokens) }

    /// Nil: no TLS.
    var identity: ServerIdentity? { inUse.withLock(\.identity) }

    /// Checks the files now.
    func lookNow() {
        thread.lookNow()
    }

    func stop() {
        thread.stop()
    }

    /// Serves the admin port until the task is cancelled.
    ///
    /// - Throws: If it cannot listen on the port.
    func serve(
        _ state: AdminState,
        onListening: @escaping @Sendable (_ port: UInt16) -> Void = { _ in }
    ) async throws {
        let server = AdminServer(
            host: admin.host,
            port: admin.port,
            state: state,
            access: AdminAccess(
                hosts: AdminHosts(admin.hosts + [ProcessInfo.processInfo.hostName]),
                requiresTLS: admin.certificateFile != nil,
                tokens: { self.tokens }
            ),
            identity: { self.identity }
        ) { [log] cause in
            log.error("admin port: accept failed", [.error: cause])
        }
        try await server.run { [log] address in
            log.notice(
                "admin port is listening",
                [.address: address.description, .port: "\(address.port)"]
            )
            onListening(address.port)
        }
    }

    private func look(_ watches: inout Watches, isAsked: Bool) {
        if let changed = watches.tokens.read(admin.tokenFiles, isAsked: isAsked) {
            take("admin.bearer_token_file") { () throws(ServiceError) in
                let tokens = try admin.tokens(in: changed)
                inUse.withLock { $0.tokens = tokens }
            }
        }
        if let changed = watches.identity.read(admin.identityFiles, isAsked: isAsked) {
            take("admin.certificate_file or admin.private_key_file") { () throws(ServiceError) in
                let identity = try admin.identity(in: changed)
                inUse.withLock { $0.identity = identity }
            }
        }
    }

    private func take(_ name: String, _ body: () throws(ServiceError) -> Void) {
        do throws(ServiceError) {
            try body()
            reloads.taken(name)
            log.notice("\(name) reloaded")
        } catch {
            let problem = error.lines.joined(separator: "; ")
            reloads.refused(name, because: problem)
            log.error("\(name) not reloaded; the old one stays in use", [.problem: problem])
        }
    }
}

extension SecretSource? {
    fileprivate var isVariable: Bool {
        if case .file = self { false } else { true }
    }
}

/// The values of several `admin` keys at one time, in order.
struct AdminFiles: Equatable, Sendable {
    struct Reading: Equatable, Sendable {
        let name: String
        let source: SecretSource
        let content: Result<[UInt8], FileError>
    }

    fileprivate let readings: [Reading]

    fileprivate init(_ sources: [(name: String, source: SecretSource?)]) {
        readings = sources.compactMap { name, source in
            guard let source else { return nil }
            let content = Result { () throws(FileError) in
                try source.read(limit: Configuration.maxKeyFileByteCount)
            }
            return Reading(name: name, source: source, content: content)
        }
    }

    /// The value; nil if the key is not set.
    fileprivate func bytes(_ name: String) throws(ServiceError) -> [UInt8]? {
        guard let reading = readings.first(where: { $0.name == name }) else { return nil }
        do throws(FileError) {
            return try reading.content.get()
        } catch {
            throw problem(name, "\(error)")
        }
    }

    /// `predicate` completes a sentence about the source of the key's value.
    fileprivate func problem(_ name: String, _ predicate: String) -> ServiceError {
        let source = readings.first { $0.name == name }?.source
        let key = source?.key(name) ?? "\(name)_file"
        return ServiceError(text: "admin.\(key): \(source.map { "\($0) " } ?? "")\(predicate)")
    }
}

extension Configuration.Admin {
    fileprivate var tokenFiles: AdminFiles { AdminFiles([("bearer_token", bearerToken)]) }

    fileprivate var identityFiles: AdminFiles {
        AdminFiles([
            ("certificate", certificateFile.map(SecretSource.file)), ("private_key", privateKey),
        ])
    }

    /// The tokens; nil if none is required.
    func readTokens() throws(ServiceError) -> AdminTokens? { try tokens(in: tokenFiles) }

    /// The certificate with its key; nil if there is none.
    func readIdentity() throws(ServiceError) -> ServerIdentity? { try identity(in: identityFiles) }

    fileprivate func tokens(in files: AdminFiles) throws(ServiceError) -> AdminTokens? {
        guard let text = try files.bytes("bearer_token") else { return nil }
        do throws(AdminTokens.Problem) {
            return try AdminTokens(text: text)
        } catch {
            throw files.problem("bearer_token", "\(error)")
        }
    }

    fileprivate func identity(in files: AdminFiles) throws(ServiceError) -> ServerIdentity? {
        let key = try files.bytes("private_key")
        guard let certificate = try files.bytes("certificate") else { return nil }
        do throws(ServerIdentity.Problem) {
            return try ServerIdentity(certificate: certificate, privateKey: key)
        } catch {
            throw files.problem(error.isOfKey ? "private_key" : "certificate", "\(error)")
        }
    }
}
