import APNsRules
package import Configuration
import HTTP2IO
package import Log
import Synchronization
import SystemIO
package import Telemetry
package import Vocabulary

/// A credential as defined by its files.
package struct CredentialInUse: Sendable {
    let material: CredentialMaterial
    /// Nil: the credential is a certificate.
    package let token: ProviderTokenSource?
    /// In the order of `APNsEnvironment`.
    package let endpoints: [APNsEndpoint]
    /// Incremented with every replacement.
    package let generation: Int
    /// When its files were loaded.
    let loadedAt: Timestamp
}

/// The process's credentials, as defined by their files, for all shards.
///
/// A thread of its own watches the files. A changed file is checked as at the start. If it is
/// valid, it replaces the old one for all shards at once: each shard adopts `inUse` between two
/// turns, and drains the replaced connections. Otherwise it is reported, and the old one stays in
/// use.
package final class Credentials: Sendable {
    private struct State {
        var inUse: [CredentialInUse] = []
        var endpoints: APNsEndpoints
        /// Why a credential's current files are not in use.
        var problems: [String?]
        /// Why the files that all credentials share are not in use.
        var commonProblem: String?
    }

    /// The thread's state between two checks.
    private struct Watches: Sendable {
        var common: ContentWatch<WatchedFiles>
        var own: [ContentWatch<WatchedFiles>]
        /// When files that are not valid yet become valid, by credential.
        var validFrom: [Timestamp?]
        var nextExpiryLook: Instant
    }

    private static let expiryInterval = Duration.seconds(24 * 60 * 60)

    private let apns: Configuration.APNs
    private let log: Log
    private let state: Mutex<State>
    /// Incremented with every change of `inUse`, starting at 1.
    private let version = Atomic(1)
    private let thread: WatchThread
    /// Counts file changes, by whether they could be adopted.
    let reloads = CounterTable<CallResult>()

    /// Reads the files for the first time; reports every problem.
    package init(_ apns: Configuration.APNs, log: Log) throws(ServiceError) {
        self.apns = apns
        // Every line, because operators cause them, and files are checked only once a second.
        self.log = log.everyLine
        let common = apns.readCommonFiles()
        let own = apns.credentials.map { $0.readFiles() }
        let materials = try CredentialMaterial.all(apns.credentials, own)
        var state = State(
            endpoints: try APNsEndpoints(apns, common),
            problems: materials.map { _ in nil }
        )
        for material in materials {
            state.inUse.append(try Self.use(material, generation: 0, state))
        }
        self.state = Mutex(state)
        do throws(SystemError) {
            thread = try WatchThread()
        } catch {
            throw ServiceError(text: "cannot watch the files of apns.credentials: \(error)")
        }
        tellExpiries()
        thread.start(
            named: "credentials",
            Watches(
                common: ContentWatch(inUse: common),
                own: own.map { ContentWatch(inUse: $0) },
                validFrom: own.map { _ in nil },
                nextExpiryLook: SystemClock.now + Self.expiryInterval
            )
        ) { [weak self] watches, isAsked in self?.look(&watches, isAsked: isAsked) }
    }

    /// Checks the files now.
    package func lookNow() {
        thread.lookNow()
    }

    package func stop() {
        thread.stop()
    }

    // MARK: For the shards

    /// The credentials, unless the caller already has them.
    ///
    /// `seen` is the caller's version, and becomes the current one.
    package func inUse(newerThan seen: inout Int) -> [CredentialInUse]? {
        guard version.load(ordering: .acquiring) != seen else { return nil }
        return state.withLock { state in
            seen = version.load(ordering: .relaxed)
            return state.inUse
        }
    }

    /// APNs refused the key that the caller uses; informs every shard.
    package func keyRevoked(_ credential: CredentialInUse) {
        credential.token?.wasRevoked()
        version.add(1, ordering: .releasing)
    }

    package var materials: [CredentialMaterial] { state.withLock { $0.inUse.map(\.material) } }

    // MARK: For operators

    /// Problems with the files: the credential's name (nil for all credentials), and the reason.
    package func troubles(now: Timestamp) -> [(credential: String?, reason: String)] {
        state.withLock { state in
            var troubles =
                state.commonProblem.map { [(credential: String?.none, reason: $0)] } ?? []
            for (index, credential) in apns.credentials.enumerated() {
                let expiry = state.inUse[index].material.expiry(now: now)
                for reason in [state.problems[index], expiry?.trouble].compactMap(\.self) {
                    troubles.append((credential.name, reason))
                }
            }
            return troubles
        }
    }

    /// How many credentials could not adopt their current files; shared files count as one.
    package var unusableCount: Int {
        state.withLock { ($0.problems + [$0.commonProblem]).compactMap(\.self).count }
    }

    package var metrics: CredentialMetrics {
        CredentialMetrics(reloads: reloads) { [weak self] in self?.readings() ?? [] }
    }

    private func readings() -> [CredentialMetrics.Reading] {
        let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
        return zip(apns.credentials, state.withLock(\.inUse)).map { credential, inUse in
            CredentialMetrics.Reading(
                credential: credential.name,
                loadedAt: inUse.loadedAt.seconds,
                certificateExpiry: inUse.material.certificate?.facts.notAfter.seconds,
                tokenAge: inUse.token?.ageInUse(now: now)?.components.seconds
            )
        }
    }

    // MARK: The thread

    private func look(_ watches: inout Watches, isAsked: Bool) {
        if let changed = watches.common.read(apns.readCommonFiles(), isAsked: isAsked) {
            takeCommon(changed)
        }
        for (index, credential) in apns.credentials.enumerated() {
            if let changed = watches.own[index].read(credential.readFiles(), isAsked: isAsked) {
                watches.validFrom[index] = take(changed, index)
            } else if let due = watches.validFrom[index], due <= SystemClock.wallClock {
                watches.validFrom[index] = take(watches.own[index].settled, index)
            }
        }
        guard watches.nextExpiryLook <= SystemClock.now else { return }
        watches.nextExpiryLook = SystemClock.now + Self.expiryInterval
        tellExpiries()
    }

    /// - Returns: When to try again, if the certificate is only not valid yet.
    private func take(_ files: WatchedFiles, _ index: Int) -> Timestamp? {
        let name = apns.credentials[index].name
        do throws(CredentialMaterialError) {
            let material = try CredentialMaterial(apns.credentials[index], files)
            try replace(index, by: material, files)
            reloads[.ok].add()
            for secret in apns.credentials[index].exposedSecrets() {
                log.warning(
                    "secret file is readable by others",
                    [.credential: name, .problem: "apns.credentials.\(index).\(secret)"]
                )
            }
            log.notice("credential reloaded", [.credential: name])
            tellExpiry(index)
            return nil
        } catch {
            let problem = "apns.credentials.\(index).\(error.text)"
            state.withLock { $0.problems[index] = problem }
            reloads[.failed].add()
            log.error(
                "credential not reloaded; the old one stays in use",
                [.credential: name, .problem: problem]
            )
            return error.validFrom
        }
    }

    /// Replaces the credential, unless the key or certificate is unchanged.
    private func replace(
        _ index: Int,
        by material: CredentialMaterial,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        let result = state.withLock { state -> Result<Void, CredentialMaterialError> in
            let old = state.inUse[index]
            guard !old.material.isSame(as: material) else {
                state.problems[index] = nil
                return .success(())
            }
            return Result { () throws(CredentialMaterialError) in
                try material.checkReplacing(old.material, files)
                do throws(ServiceError) {
                    state.inUse[index] = try Self.use(
                        material,
                        generation: old.generation + 1,
                        state
                    )
                } catch {
                    throw CredentialMaterialError(
                        key: "certificate_file",
                        "cannot be used: \(error.lines.joined(separator: "; "))"
                    )
                }
                state.problems[index] = nil
                version.add(1, ordering: .releasing)
            }
        }
        try result.get()
    }

    /// Adopts a new CA or proxy password, which affects every credential.
    private func takeCommon(_ files: WatchedFiles) {
        do throws(ServiceError) {
            let endpoints = try APNsEndpoints(apns, files)
            let result = state.withLock { state -> Result<Void, ServiceError> in
                Result { () throws(ServiceError) in
                    var next = state
                    next.endpoints = endpoints
                    next.inUse = try state.inUse.map { old throws(ServiceError) in
                        try Self.use(old.material, generation: old.generation + 1, next)
                    }
                    next.commonProblem = nil
                    state = next
                    version.add(1, ordering: .releasing)
                }
            }
            try result.get()
            reloads[.ok].add()
            log.notice("apns.ca_file and apns.proxy_password_file reloaded")
        } catch {
            let problem = error.lines.joined(separator: "; ")
            state.withLock { $0.commonProblem = problem }
            reloads[.failed].add()
            log.error(
                "apns.ca_file and apns.proxy_password_file not reloaded; the old ones stay in use",
                [.problem: problem]
            )
        }
    }

    private static func use(
        _ material: CredentialMaterial,
        generation: Int,
        _ state: State
    ) throws(ServiceError) -> CredentialInUse {
        let token = material.signingKey.map { key in
            // Credentials with the same key share its token source.
            state.inUse.lazy.compactMap(\.token).first { $0.key.isSame(as: key) }
                ?? ProviderTokenSource(key)
        }
        return CredentialInUse(
            material: material,
            token: token,
            endpoints: try state.endpoints.all(of: material),
            generation: generation,
            loadedAt: SystemClock.wallClock
        )
    }

    // MARK: Expiry

    private func tellExpiries() {
        for index in apns.credentials.indices { tellExpiry(index) }
    }

    private func tellExpiry(_ index: Int) {
        let material = state.withLock { $0.inUse[index].material }
        let name = apns.credentials[index].name
        switch material.expiry(now: SystemClock.wallClock) {
        case nil, .distant: break
        case .near(let days):
            log.warning(
                "certificate expires soon",
                [.credential: name, .days: "\(days)"]
            )
        case .expired, .early:
            log.error("certificate is not valid", [.credential: name])
        }
    }
}
