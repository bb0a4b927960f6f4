import AdminHTTP
import Foundation
import Testing

@Suite struct AdminTokensTests {
    private static let token = "0123456789abcdef"
    private static let next = "fedcba9876543210-next"

    private static func basic(_ login: String) -> String {
        "Basic \(Data(login.utf8).base64EncodedString())"
    }

    @Test(arguments: [
        "Bearer \(token)", "bearer \(token)", "BEARER  \(token) ", "Bearer \(next)",
        basic("anybody:\(token)"), basic(":\(next)"),
    ])
    func `each token of the file opens the pages`(authorization: String) throws {
        let tokens = try AdminTokens(text: Array("\n \(Self.token)\r\n\(Self.next)\t\n".utf8))
        #expect(tokens.admit(authorization))
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", token, "Bearer \(token.dropLast())", "Bearer \(token)0",
        "Bearer \(token.uppercased())", "Bearer \(token), Bearer \(token)", "Bearer \(next)x",
        "Bearer \(token)\n\(next)", "Token \(token)", basic(token), basic("\(token):"),
        basic("a:b:\(token)"), "Basic \(token)", "Basic a:\(token)", "Bearer\(token)",
    ])
    func `nothing else opens the pages`(authorization: String?) throws {
        let tokens = try AdminTokens(text: Array("\(Self.token)\n\(Self.next)".utf8))
        #expect(!tokens.admit(authorization))
    }

    @Test(
        arguments: [
            ("", .none), (" \n\t\r\n", .none), ("0123456789abcde", .short),
            ("\(token)\nshort", .short), ("0123456789 abcdef", .malformed),
            ("0123456789\u{E9}abcdef", .malformed), ("0123456789\u{0}abcdef", .malformed),
        ] as [(String, AdminTokens.Problem)]
    )
    func `a text that is not a token is refused`(text: String, problem: AdminTokens.Problem) {
        #expect(throws: problem) { try AdminTokens(text: Array(text.utf8)) }
    }

    @Test func `tokens are never shown`() throws {
        let tokens = try AdminTokens(text: Array(Self.token.utf8))
        #expect(
            !"\(tokens)".contains(Self.token) && !String(reflecting: tokens).contains(Self.token)
        )
    }
}
