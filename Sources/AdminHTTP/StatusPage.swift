import CFiles
import Vocabulary

/// The page at `/`: one file, no request to anywhere but `status.json`.
///
/// Its sources are in `Page/`.
enum StatusPage {
    /// Only what is in this file runs, even if someone slips markup in.
    static let policy = """
        default-src 'none'; \
        style-src \(hashes(styles)); script-src \(hashes(scripts)); \
        connect-src 'self'; img-src data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The page with its styles and scripts in it.
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
        "format.js", "tables.js", "charts.js", "advice.js", "sections.js", "status.js",
    ]

    /// A file of `Page/`.
    private static func text(_ name: String) -> String {
        // SAFETY: the text ends with a NUL, and stays.
        unsafe String(cString: hg_file_text("page/\(name)"))
    }

    /// The texts as the policy names them (CSP Level 3, 2.3.1).
    private static func hashes(_ names: [String]) -> String {
        names.map { "'sha256-\(sha256(text($0)))'" }.joined(separator: " ")
    }

    private static func sha256(_ text: String) -> String {
        var hash: [UInt8] = []
        Base64.standard.append(SHA256.digest(Array(text.utf8)), to: &hash)
        return String(decoding: hash, as: UTF8.self)
    }
}
