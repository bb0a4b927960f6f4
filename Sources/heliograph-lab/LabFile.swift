import Glibc
import SystemIO

/// Writes the files that the workbench makes for other programs.
enum LabFile {
    /// Writes a whole file and replaces an existing one; `name` is used in error messages.
    ///
    /// If `isSecret`, a new file is readable only by its owner.
    static func write(
        _ bytes: [UInt8],
        to path: String,
        named name: String,
        isSecret: Bool = false
    ) throws(DemoError) {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
        let descriptor = unsafe open(path, flags, isSecret ? 0o600 : 0o666)
        guard descriptor >= 0, let file = unsafe fdopen(descriptor, "w") else {
            throw failure(path, name)
        }
        let count = unsafe fwrite(bytes, 1, bytes.count, file)
        guard unsafe fclose(file) == 0, count == bytes.count else { throw failure(path, name) }
    }

    private static func failure(_ path: String, _ name: String) -> DemoError {
        let error = SystemError(call: "write", code: errno)
        return DemoError("\(name) '\(path)' cannot be written: \(error.text)")
    }
}
