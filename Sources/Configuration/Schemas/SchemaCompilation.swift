import EventCodec
import Foundation
import JSONSchema

/// Compiles external schemas.
///
/// Schemas may refer only to others in the same folder, never to the network.
package struct SchemaCompilation: Sendable {
    /// Whether to enforce `format` even if a schema's dialect treats it as an annotation.
    package let assertsFormat: Bool

    package init(assertsFormat: Bool) {
        self.assertsFormat = assertsFormat
    }

    /// Compiles every file of a directory; they may refer to each other by relative paths.
    ///
    /// - Parameters:
    ///   - files: The texts of the schemas.
    ///   - directory: Their directory.
    /// - Returns: For each file, the schema or its problem. If there are files that cannot be read,
    ///   files that refer to them may be missing.
    func compile(
        _ files: SchemaFiles,
        in directory: String
    ) -> [(file: String, schema: Result<Schema, SchemaProblems>)] {
        let base = URL(filePath: directory, directoryHint: .isDirectory)
        let sorted = files.texts.sorted { $0.key < $1.key }
        var library = SchemaLibrary()
        var results: [(file: String, schema: Result<Schema, SchemaProblems>)] = []
        for (file, error) in files.unreadable.sorted(by: { $0.key < $1.key }) {
            let problem = "\("\(directory)/\(file)".quoted) \(error); check the path"
            results.append((file, .failure(SchemaProblems(problem))))
        }
        var sound: [(file: String, text: [UInt8])] = []
        for (file, text) in sorted {
            do throws(SchemaError) {
                try library.add(text, baseURI: Self.uri(file, base))
                sound.append((file, text))
            } catch {
                results.append((file, .failure(Self.problem(error, file, directory, base))))
            }
        }
        let isComplete = results.isEmpty
        for (file, text) in sound {
            do throws(SchemaError) {
                let schema = try Schema(
                    text: text,
                    baseURI: Self.uri(file, base),
                    library: library,
                    options: SchemaOptions(assertsFormat: assertsFormat)
                )
                results.append((file, .success(schema)))
            } catch {
                // It may refer to a file that is broken, and fail only because of that.
                if error.isMissingDocument, !isComplete { continue }
                results.append((file, .failure(Self.problem(error, file, directory, base))))
            }
        }
        return results
    }

    private static func uri(_ file: String, _ base: URL) -> String {
        base.appending(path: file, directoryHint: .notDirectory).absoluteString
    }

    /// A schema may fail because of a file to which it refers.
    private static func problem(
        _ error: SchemaError,
        _ file: String,
        _ directory: String,
        _ base: URL
    ) -> SchemaProblems {
        let prefix = base.absoluteString
        var place = "\(directory)/\(file)"
        if let document = error.document, document != uri(file, base) {
            let name = document.hasPrefix(prefix) ? document.dropFirst(prefix.count) : document[...]
            place += "' by its reference to '\(name)"
        }
        let pointer = error.pointer.isEmpty ? "" : " at \(error.pointer)"
        return SchemaProblems("'\(place)'\(pointer): \(error.message)")
    }
}
