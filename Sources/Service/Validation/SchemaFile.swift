import EventSchema
import FoundationEssentials

extension SchemaChecker {
    /// Makes a checker for the schema in a file.
    ///
    /// - Throws: `ValidationProblem` when the file cannot be read or its schema is refused.
    package convenience init(file path: String) throws(ValidationProblem) {
        let text: [UInt8]
        do {
            text = Array(try Data(contentsOf: URL(filePath: path)))
        } catch {
            throw ValidationProblem(place: path, message: "cannot be read")
        }
        do {
            self.init(try Schema(text: text))
        } catch {
            throw ValidationProblem(place: path, message: "at '\(error.pointer)': \(error.message)")
        }
    }
}
