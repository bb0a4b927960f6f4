import APNsSimulator
import Foundation
import HTTP2IO
import HTTP2Peer
import JSON
import Vocabulary

/// The signing keys that a simulator accepts: its own, and those of a key file.
struct SimulatedKeys {
    static let ownKeyID = "ABC123DEFG"
    static let ownTeamID = "DEF123GHIJ"

    let ownPEM = EphemeralAuthority.signingKeyPEM()
    private(set) var registered: [RegisteredKey] = []

    /// Reads a key file, JSON as described in docs/simulator.md; nil: no further keys.
    init(_ path: String?) throws {
        registered.append(
            RegisteredKey(
                keyID: Self.ownKeyID,
                teamID: Self.ownTeamID,
                publicKeyPEM: try ES256Signer(pem: ownPEM).publicKeyPEM
            )
        )
        guard let path else { return }
        guard let text = FileManager.default.contents(atPath: path) else {
            throw DemoError("key file '\(path)' cannot be read")
        }
        guard let list = (try? JSONValue.parse(Array(text)))?.array else {
            throw DemoError("key file '\(path)' is not a JSON array")
        }
        for (index, value) in list.enumerated() {
            registered.append(try Self.key(value, "\(path)[\(index)]"))
        }
    }

    private static func key(_ value: JSONValue, _ place: String) throws -> RegisteredKey {
        guard let keyID = value["key_id"]?.string, let teamID = value["team_id"]?.string,
            let file = value["file"]?.string
        else { throw DemoError("\(place): needs key_id, team_id and file") }
        let pem = try pem(file)
        let publicKeyPEM: [UInt8]
        do throws(KeyFileError) {
            publicKeyPEM = try ES256Signer(pem: pem).publicKeyPEM
        } catch {
            throw DemoError("\(place): '\(file)' \(error)")
        }
        var key = RegisteredKey(keyID: keyID, teamID: teamID, publicKeyPEM: publicKeyPEM)
        if let names = value["environments"]?.array {
            key.environments = Set(
                names.compactMap { $0.string.flatMap(APNsEnvironment.init(rawValue:)) }
            )
            guard key.environments.count == names.count, !names.isEmpty else {
                throw DemoError("\(place).environments: production, sandbox or both")
            }
        }
        if let names = value["bundle_ids"]?.array {
            key.bundleIDs = Set(names.compactMap(\.string))
        }
        key.relatedKeyID = value["related_key_id"]?.string
        return key
    }

    /// Reads the key in the file, or makes a new one and writes it there.
    private static func pem(_ file: String) throws -> [UInt8] {
        if let known = FileManager.default.contents(atPath: file) { return Array(known) }
        let made = EphemeralAuthority.signingKeyPEM()
        try LabFile.write(made, to: file, named: "key file", isSecret: true)
        return made
    }
}
