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
    /// - Returns: For each file in name order, the schema or its problem.
    func compile(
        _ files: SchemaFiles,
        in directory: String
    ) -> [(file: String, schema: Result<Schema, SchemaProblems>)] {
        let base = URL(filePath: directory, directoryHint: .isDirectory)
        let sorted = files.texts.sorted { $0.key < $1.key }
        var library = SchemaLibrary()
        var results: [(file: String, schema: Result<Schema, SchemaProblems>)] = []
        for (file, text) in sorted {
            do throws(SchemaError) {
                try library.add(text, baseURI: Self.uri(file, base))
            } catch {
                results.append((file, .failure(Self.problem(error, file, directory, base))))
            }
        }
        // A schema that refers to a broken file would only fail because of that file.
        guard results.isEmpty else { return results }
        for (file, text) in sorted {
            do throws(SchemaError) {
                let schema = try Schema(
                    text: text,
                    baseURI: Self.uri(file, base),
                    library: library,
                    options: SchemaOptions(assertsFormat: assertsFormat)
                )
                results.append((file, .success(schema)))
            } catch {
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
