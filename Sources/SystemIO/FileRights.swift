import CLinux
import Glibc

/// A file's owner and permissions.
public struct FileRights: Hashable, Sendable {
    /// The permission bits as for chmod(2), without the file type.
    public var mode: UInt32
    public var owner: UInt32
    /// Whether the file lies in memory, on a file system mounted read-only.
    public var isInReadOnlyMemory: Bool

    public init(mode: UInt32, owner: UInt32, isInReadOnlyMemory: Bool) {
        self.mode = mode
        self.owner = owner
        self.isInReadOnlyMemory = isInReadOnlyMemory
    }

    /// Reads the rights of the file at the path, following links; nil if there is no such file.
    public init?(path: String) {
        var status = stat()
        var system = statfs()
        // SAFETY: each call writes only the structure it is given.
        guard unsafe stat(path, &status) == 0, unsafe statfs(path, &system) == 0 else { return nil }
        mode = status.st_mode & 0o7777
        owner = status.st_uid
        isInReadOnlyMemory =
            Self.memoryTypes.contains(Int(system.f_type))
            && Int(system.f_flags) & Int(ST_RDONLY) != 0
    }

    /// TMPFS_MAGIC and RAMFS_MAGIC (statfs(2)).
    private static let memoryTypes: Set = [0x0102_1994, 0x8584_58F6]
}
