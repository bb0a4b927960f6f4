import Foundation
import Shard
import SystemIO
import Testing
import Vocabulary

@Suite struct InputLogFileTests {
    private let now = Timestamp(milliseconds: 1_769_851_800_000)

    /// Runs the body in a temporary folder, and returns the contents of its files by name.
    private func withFolder(_ body: (String) throws -> Void) throws -> [String: [UInt8]] {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.path)
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            files[name] = [UInt8](try Data(contentsOf: folder.appending(path: name)))
            let attributes = try FileManager.default.attributesOfItem(
                atPath: folder.appending(path: name).path
            )
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        return files
    }

    @Test func `blocks are appended to a file that other users cannot read`() throws {
        let files = try withFolder { folder in
            var file = try InputLogFile(in: folder, shard: 2, now: now)
            let wrote = [try file.append([1, 2]), try file.append([]), try file.append([3])]
            #expect(wrote == [true, true, true])
        }
        #expect(files == ["inputs-1769851800000-shard-2": [1, 2, 3]])
    }

    @Test func `a full file accepts no block and keeps its content`() throws {
        let files = try withFolder { folder in
            var file = try InputLogFile(in: folder, shard: 0, now: now, maxBytes: 3)
            let wrote = [try file.append([1, 2]), try file.append([3, 4]), try file.append([])]
            #expect(wrote == [true, false, false])
        }
        #expect(files.values.first == [1, 2])
    }

    @Test func `an existing file is not overwritten`() throws {
        _ = try withFolder { folder in
            var first = try InputLogFile(in: folder, shard: 0, now: now)
            _ = try first.append([1])
            let error = #expect(throws: SystemError.self) {
                _ = try InputLogFile(in: folder, shard: 0, now: now)
            }
            #expect(error?.code == EEXIST)
        }
    }
}
