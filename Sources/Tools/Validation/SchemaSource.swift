import Configuration
import EventCodec
import FoundationEssentials
import JSONSchema

/// Where `heliograph validate` finds a schema and the schemas that it refers to.
package struct SchemaSource: Hashable, Sendable {
    /// A folder with `*.json` files that schemas may refer to.
    package struct Directory: Hashable, Sendable {
        /// The prefix for relative file paths; nil: the folder's own `file:` URI.
        package var baseURI: String?
        package var path: String

        /// Parses `[BASE-URI=]DIR`.
        ///
        /// The text before the first `=` is a base URI if it starts with a scheme (RFC 3986,
        /// section 3.1).
        package init(argument: String) {
            let parts = argument.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            if parts.count == 2, Self.hasScheme(parts[0]) {
                baseURI = String(parts[0])
                path = String(parts[1])
            } else {
                path = argument
            }
        }

        private static func hasScheme(_ text: Substring) -> Bool {
            guard let colon = text.firstIndex(of: ":") else { return false }
            let scheme = text[..<colon].utf8
            return scheme.first.map(\.isASCIILetter) == true
                && scheme.allSatisfy {
                    $0.isASCIILetter || "0123456789+-.".utf8.contains($0)
                }
        }
    }

    /// The draft for schemas that do not name one.
    package enum Draft: String, Hashable, Sendable, CaseIterable {
        case draft7 = "7"
        case draft2020 = "2020-12"
    }

    package var file: String
    package var directories: [Directory]
    package var draft: Draft
    /// Whether `format` is enforced even if the schema's dialect makes it an annotation.
    package var assertsFormat: Bool

    package init(file: String, directories: [Directory], draft: Draft, assertsFormat: Bool) {
        self.file = file
        self.directories = directories
        self.draft = draft
        self.assertsFormat = assertsFormat
    }

    /// Reads and compiles the schema.
    ///
    /// - Throws: `ValidationProblem` if a file cannot be read or the schema is not valid.
    /// - Returns: The checker for documents.
    package func checker() throws(ValidationProblem) -> SchemaChecker {
        let draft: SchemaDraft = draft == .draft7 ? .draft7 : .draft2020
        var library = SchemaLibrary(defaultDraft: draft)
        for directory in directories { try add(directory, to: &library) }
        let text = try Self.read(file)
        do {
            let schema = try Schema(
                text: text,
                baseURI: Self.fileURI(file, isDirectory: false),
                library: library,
                options: SchemaOptions(defaultDraft: draft, assertsFormat: assertsFormat)
            )
            return SchemaChecker(schema)
        } catch {
            throw ValidationProblem(place: error.document ?? file, error)
        }
    }

    // MARK: Files

    private static let maxFileByteCount = 4 << 20

    private func add(
        _ directory: Directory,
        to library: inout SchemaLibrary
    ) throws(ValidationProblem) {
        let base = directory.baseURI ?? Self.fileURI(directory.path, isDirectory: true)
        for name in try Self.names(in: directory.path) {
            let path = "\(directory.path)/\(name)"
            let text = try Self.read(path)
            do {
                try library.add(text, baseURI: base + Self.encoded(name))
            } catch {
                throw ValidationProblem(place: path, error)
            }
        }
    }

    /// The relative paths of the folder's `*.json` files, except hidden ones.
    private static func names(in directory: String) throws(ValidationProblem) -> [String] {
        let all: [String]
        do {
            all = try FileManager.default.subpathsOfDirectory(atPath: directory)
        } catch {
            throw ValidationProblem(place: directory, message: "is not a readable directory")
        }
        return all.filter { name in
            name.hasSuffix(".json")
                && name.split(separator: "/").allSatisfy { !$0.hasPrefix(".") }
        }.sorted()
    }

    private static func read(_ path: String) throws(ValidationProblem) -> [UInt8] {
        do {
            return try BoundedFile.read(path, limit: maxFileByteCount)
        } catch {
            throw ValidationProblem(place: path, message: "\(error); check the path")
        }
    }

    /// An absolute URI, so that references between files resolve.
    private static func fileURI(_ path: String, isDirectory: Bool) -> String {
        let hint: URL.DirectoryHint = isDirectory ? .isDirectory : .notDirectory
        return URL(filePath: path, directoryHint: hint).standardizedFileURL.absoluteString
    }

    /// A relative path, encoded as part of a URI (RFC 3986, section 3.3).
    private static func encoded(_ path: String) -> String {
        var text = ""
        for byte in path.utf8 {
            if byte.isASCIILetter || "0123456789-._~!$&'()*+,;=:@/".utf8.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += (byte < 16 ? "%0" : "%") + digits
            }
        }
        return text
    }
}

extension ValidationProblem {
    fileprivate init(place: String, _ error: SchemaError) {
        let pointer = error.pointer.isEmpty ? "" : "at \(error.pointer): "
        self.init(place: place, message: pointer + error.message)
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }
}
