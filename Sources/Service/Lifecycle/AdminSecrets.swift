import AdminHTTP
import Configuration
import Log
import Synchronization
import SystemIO

/// The admin port's tokens, as their file has them.
///
/// A thread of its own watches the file; see `ContentWatch`. What cannot be used is told, and the old
/// tokens stay.
final class AdminSecrets: Sendable {
    private let admin: Configuration.Admin
    private let log: Log
    private let inUse: Mutex<AdminTokens?>
    /// Nil: there is nothing to watch.
    private let thread: WatchThread?

    /// Reads the file for the first time.
    init(_ admin: Configuration.Admin, log: Log) throws(ServiceError) {
        self.admin = admin
        // What operators do with files, which is looked at once a second.
        self.log = log.everyLine
        let reading = admin.readTokenSource()
        inUse = Mutex(try admin.readTokens())
        guard case .file = admin.bearerToken else {
            thread = nil
            return
        }
        do throws(SystemError) {
            thread = try WatchThread()
        } catch {
            throw ServiceError(text: "cannot watch admin.bearer_token_file: \(error)")
        }
        thread?.start(named: "admin secrets", ContentWatch(inUse: reading)) {
            [weak self] watch, isAsked in self?.look(&watch, isAsked: isAsked)
        }
    }

    /// Nil: none is asked for.
    var tokens: AdminTokens? { inUse.withLock(\.self) }

    /// Has the file read without waiting for its time.
    func lookNow() {
        thread?.lookNow()
    }

    func stop() {
        thread?.stop()
    }

    private func look(_ watch: inout ContentWatch<Configuration.Admin.Reading>, isAsked: Bool) {
        guard let changed = watch.read(admin.readTokenSource(), isAsked: isAsked) else { return }
        do throws(ServiceError) {
            let tokens = try admin.tokens(in: changed)
            inUse.withLock { $0 = tokens }
            log.notice("admin.bearer_token_file changed and is in use")
        } catch {
            log.error(
                "admin.bearer_token_file changed and cannot be used, the old tokens stay",
                [.problem: error.lines.joined(separator: "; ")]
            )
        }
    }
}

extension Configuration.Admin {
    typealias Reading = Result<[UInt8], FileError>?

    fileprivate func readTokenSource() -> Reading {
        bearerToken.map { source in
            Result { () throws(FileError) in
                try source.read(limit: Configuration.maxKeyFileByteCount)
            }
        }
    }

    /// The tokens; nil where none is asked for.
    func readTokens() throws(ServiceError) -> AdminTokens? { try tokens(in: readTokenSource()) }

    fileprivate func tokens(in reading: Reading) throws(ServiceError) -> AdminTokens? {
        guard let bearerToken, let reading else { return nil }
        let name = "admin.\(bearerToken.key("bearer_token")): \(bearerToken)"
        let text: [UInt8]
        do throws(FileError) {
            text = try reading.get()
        } catch {
            throw ServiceError(text: "\(name) \(error)")
        }
        do throws(AdminTokens.Problem) {
            return try AdminTokens(text: text)
        } catch {
            throw ServiceError(text: "\(name) \(error)")
        }
    }
}
