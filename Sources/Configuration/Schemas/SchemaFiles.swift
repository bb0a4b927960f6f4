import Foundation
import Log

/// The operator's schemas in `schemas.directory`.
package struct SchemaFiles: Hashable, Sendable {
    /// Texts by file name.
    package var texts: [String: [UInt8]]
    /// Why the other files cannot be read, by file name.
    package var unreadable: [String: FileError]

    package init(texts: [String: [UInt8]], unreadable: [String: FileError] = [:]) {
        self.texts = texts
        self.unreadable = unreadable
    }

    /// Limits the amount that is read at each check.
    private static let maxCount = 1000
    private static let maxFileByteCount = 4 << 20
    private static let maxTotalByteCount = 32 << 20

    /// Reads every `*.json` file in a directory, except hidden ones.
    ///
    /// Symbolic links are followed: Kubernetes mounts a ConfigMap as links into a hidden folder.
    ///
    /// - Parameter directory: The path of the directory.
    /// - Throws: `SchemaProblems` if the directory cannot be read, or contains too much.
    /// - Returns: The texts of the files, and which ones cannot be read.
    package static func read(_ directory: String) throws(SchemaProblems) -> SchemaFiles {
        let names = try names(in: directory)
        var files = SchemaFiles(texts: [:])
        var total = 0
        for name in names {
            do throws(FileError) {
                let text = try BoundedFile.read("\(directory)/\(name)", limit: maxFileByteCount)
                total += text.count
                files.texts[name] = text
            } catch {
                files.unreadable[name] = error
            }
            guard total <= maxTotalByteCount else {
                throw SchemaProblems(
                    "\(directory.quoted) holds more than \(ByteSize.print(maxTotalByteCount))"
                )
            }
        }
        return files
    }

    private static func names(in directory: String) throws(SchemaProblems) -> [String] {
        let all: [String]
        do {
            all = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw SchemaProblems("\(directory.quoted) is not a readable directory")
        }
        let names = all.filter { $0.hasSuffix(".json") && !$0.hasPrefix(".") }.sorted()
        guard names.count <= maxCount else {
            throw SchemaProblems("\(directory.quoted) has more than \(maxCount) files")
        }
        return names
    }
}

/// The problems of the operator's schemas; never empty.
package struct SchemaProblems: Error, Hashable, Sendable {
    package struct Problem: Hashable, Sendable {
        /// The configuration key.
        package var path: String
        package var message: String
    }

    package var problems: [Problem]

    init(_ problems: [Problem]) {
        self.problems = problems
    }

    /// Makes a problem of the whole directory.
    package init(_ message: String) {
        self.init([Problem(path: "schemas.directory", message: message)])
    }

    /// The problems in one line, for the log and for readiness.
    package var text: String {
        problems.map { "\($0.path): \($0.message)" }.joined(separator: "; ")
    }
}

extension ServiceError {
    /// Makes an error with one line per problem.
    package init(_ problems: SchemaProblems) {
        self.init(lines: problems.problems.map { "\($0.path): \($0.message)" })
    }
}

/// Detects changes in a directory of schemas.
package typealias DirectoryWatch = ContentWatch<Result<SchemaFiles, SchemaProblems>>
