import Service
import Testing

@Suite struct SecretsTests {
    @Test(arguments: [
        ("", ""), ("is 'http://proxy:3128', expected", "is 'http://proxy:3128', expected"),
        ("is 'http://u@proxy:3128'", "is 'http://u@proxy:3128'"),
        (
            "is 'http://u:p@proxy:3128', say so@home: x",
            "is 'http://u:(hidden)@proxy:3128', say so@home: x"
        ),
        (
            "http://u:p:/@p@host and https://a:b@c",
            "http://u:(hidden)@host and https://a:(hidden)@c"
        ),
        // Rather too much than too little.
        ("http://a,http://u:p@b", "http://a,http:(hidden)@b"), ("://:@", "://:(hidden)@"),
    ])
    func `a password in a URL is not quoted`(text: String, shown: String) {
        #expect(Secrets.withoutPasswords(text) == shown)
    }

    @Test func `a problem does not quote it either`() {
        let problem = ConfigurationProblem(path: "apns.proxy", message: "is 'http://u:p4ss@h:1'")
        #expect(problem.description == "apns.proxy: is 'http://u:(hidden)@h:1'")
    }
}
