package import SystemIO
package import Vocabulary

/// Where each shard records the inputs of its engine (`log.inputs_folder`).
package struct InputLogSettings: Sendable {
    package var folder: String
    /// Of this program: another one may decide differently.
    package var version: String

    package init(folder: String, version: String) {
        self.folder = folder
        self.version = version
    }
}

/// The file of one shard's input log.
///
/// Written in the shard's own thread, into the system's cache: who turns it on has a question that
/// is worth that.
package struct InputLogFile: ~Copyable {
    /// A log is replayed from its beginning, so it stops here and forgets nothing.
    private static let maxBytes = 1 << 30

    private let file: PrivateFile
    private var room: Int

    /// Creates the file in the folder, which exists already.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - shard: The shard's place among those of the process.
    ///   - now: Names the file, so that a restart spares the last one.
    ///   - maxBytes: Nothing is written behind that; nil: 1 GiB.
    /// - Throws: what `open` says.
    package init(
        in folder: String,
        shard: Int,
        now: Timestamp,
        maxBytes: Int? = nil
    ) throws(SystemError) {
        file = try PrivateFile(at: "\(folder)/inputs-\(now.milliseconds)-shard-\(shard)")
        room = maxBytes ?? Self.maxBytes
    }

    /// Writes whole blocks behind what is there.
    ///
    /// - Returns: false when there is no more room for them; from then on there is none for any.
    package mutating func append(_ blocks: [UInt8]) throws(SystemError) -> Bool {
        guard blocks.count <= room else {
            room = -1
            return false
        }
        room -= blocks.count
        try file.append(blocks)
        return true
    }
}
