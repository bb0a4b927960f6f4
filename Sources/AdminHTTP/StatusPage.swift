/// The page at `/`: one file, no request to anywhere but `status.json`.
///
/// Its sources stand in `Page/`; `scripts/embed-page` writes them as Swift, because the image is
/// one binary.
enum StatusPage {
    /// A file of `Page/`.
    struct Part: Hashable, Sendable {
        let name: String
        /// Of the text, in Base64: how the policy names it (CSP Level 3, 2.3.1).
        let sha256: String
        let text: String
    }

    private static let styles: [Part] = [.statusCSS]
    private static let scripts: [Part] = [
        .formatJS, .tablesJS, .chartsJS, .adviceJS, .sectionsJS, .statusJS,
    ]

    /// Only what stands in this file runs, even if someone slips markup in.
    static let policy = """
        default-src 'none'; \
        style-src \(hashes(styles)); script-src \(hashes(scripts)); \
        connect-src 'self'; img-src data:; \
        base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
        require-trusted-types-for 'script'; trusted-types 'none'
        """

    /// The page with its styles and scripts in it.
    static let html: String = {
        var page = Part.statusHTML.text
        for style in styles {
            page.replace(
                "<link rel=\"stylesheet\" href=\"\(style.name)\">",
                with: "<style>\(style.text)</style>"
            )
        }
        for script in scripts {
            page.replace(
                "<script src=\"\(script.name)\"></script>",
                with: "<script>\(script.text)</script>"
            )
        }
        return page + "\n"
    }()

    private static func hashes(_ parts: [Part]) -> String {
        parts.map { "'sha256-\($0.sha256)'" }.joined(separator: " ")
    }
}
