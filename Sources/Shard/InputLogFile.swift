package import SystemIO
package import Vocabulary

/// Where each shard records the inputs of its engine (`log.inputs_folder`).
package struct InputLogSettings: Sendable {
    package var folder: String
    /// The version of this program; another version may decide differently.
    package var version: String

    package init(folder: String, version: String) {
        self.folder = folder
        self.version = version
    }
}

/// The file of one shard's input log.
///
/// Written on the shard's own thread, into the page cache: enabling the log is worth that cost.
package struct InputLogFile: ~Copyable {
    /// A log is replayed from its start, so it stops at this size instead of dropping old blocks.
    private static let maxBytes = 1 << 30

    private let file: PrivateFile
    private var room: Int

    /// Creates the file in an existing folder.
    ///
    /// - Parameters:
    ///   - folder: The folder.
    ///   - shard: The shard's index within the process.
    ///   - now: Becomes part of the file's name, so that a restart keeps the previous file.
    ///   - maxBytes: The maximum size of the file; nil: 1 GiB.
    /// - Throws: the error of `open`.
    package init(
        in folder: String,
        shard: Int,
        now: Timestamp,
        maxBytes: Int? = nil
    ) throws(SystemError) {
        file = try PrivateFile(at: "\(folder)/inputs-\(now.milliseconds)-shard-\(shard)")
        room = maxBytes ?? Self.maxBytes
    }

    /// Appends complete blocks to the file.
    ///
    /// - Returns: false if they do not fit; nothing more is written then.
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
