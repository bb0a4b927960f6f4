import EventCodec
import Foundation
import JSONSchema

/// How schemas from outside are compiled.
///
/// What they refer to comes from the same folder, never from a network.
package struct SchemaCompilation: Sendable {
    /// Whether `format` is enforced where a schema's dialect leaves it an annotation.
    package let assertsFormat: Bool

    package init(assertsFormat: Bool) {
        self.assertsFormat = assertsFormat
    }

    /// Compiles every file of a directory; each may refer to the others by their relative paths.
    ///
    /// - Parameters:
    ///   - files: The schemas' texts.
    ///   - directory: Where they are.
    /// - Returns: A schema, or a sentence about what is wrong, for each file in the order of names.
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
        // What refers to a broken file would fail for that alone.
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

    /// A schema may fail for a file that it refers to.
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
