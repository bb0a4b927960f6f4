import CFiles
import Vocabulary

/// The page at `/`: a single file that requests nothing but `status.json`.
///
/// Its sources are in `Page/`.
enum StatusPage {
    /// Allows only this file's own scripts, even if markup were injected.
    static let policy = """
        default-src 'none'; \
        style-src \(hashes(styles)); script-src \(hashes(scripts)); \
        connect-src 'self'; img-src data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The page with its styles and scripts inlined.
    static let html: String = {
        var page = text("status.html")
        for style in styles {
            page.replace(
                "<link rel=\"stylesheet\" href=\"\(style)\">",
                with: "<style>\(text(style))</style>"
            )
        }
        for script in scripts {
            page.replace(
                "<script src=\"\(script)\"></script>",
                with: "<script>\(text(script))</script>"
            )
        }
        return page
    }()

    private static let styles = ["status.css"]
    private static let scripts = [
        "format.js", "tables.js", "charts.js", "advice.js", "sections.js", "campaigns.js",
        "status.js",
    ]

    /// The contents of a file in `Page/`.
    private static func text(_ name: String) -> String {
        // SAFETY: the text ends with a NUL, and is never freed.
        unsafe String(cString: hg_file_text("page/\(name)"))
    }

    /// The hashes of texts in the policy's format (CSP Level 3, 2.3.1).
    private static func hashes(_ names: [String]) -> String {
        names.map { "'sha256-\(sha256(text($0)))'" }.joined(separator: " ")
    }

    private static func sha256(_ text: String) -> String {
        var hash: [UInt8] = []
        Base64.standard.append(SHA256.digest(Array(text.utf8)), to: &hash)
        return String(decoding: hash, as: UTF8.self)
    }
}
