import RegistryIO
import Testing

@Suite struct RegistryAnswerTests {
    @Test func `a schema comes with its type and references`() throws {
        let body = """
            {"schema": "{\\"type\\":\\"object\\"}", "schemaType": "JSON", "id": 7,
             "references": [{"name": "a.json", "subject": "a", "version": 2}]}
            """
        let answer = try #require(RegistryAnswer(Array(body.utf8)))
        #expect(answer.type == "JSON")
        #expect(answer.text == Array(#"{"type":"object"}"#.utf8))
        #expect(answer.references == [.init(name: "a.json", subject: "a", version: 2)])
    }

    @Test(arguments: [
        ("", "AVRO"), (#","schemaType":null"#, "AVRO"), (#","schemaType":"AVRO""#, "AVRO"),
        (#","schemaType":"Protobuf""#, "PROTOBUF"), (#","schemaType":"json""#, "JSON"),
        (#","schemaType":"THRIFT""#, "THRIFT"),
    ])
    func `the type is in upper case, and Avro by default`(
        member: String,
        type: String
    ) throws {
        let body = #"{"schema":"\"string\""\#(member)}"#
        let answer = try #require(RegistryAnswer(Array(body.utf8)))
        #expect(answer.type == type)
        #expect(answer.references.isEmpty)
    }

    @Test(arguments: [
        "", "<html>", "[]", "{}", #"{"schema":7}"#,
        #"{"schema":"{}","references":[{"name":"a"}]}"#,
    ])
    func `a body that no registry would send is not an answer`(body: String) {
        #expect(RegistryAnswer(Array(body.utf8)) == nil)
    }

    /// A failed request does not mean that others fail, unless the registry reports its own
    /// failure.
    @Test(arguments: 100...599)
    func `a status concerns all schemas only if it is the registry's failure`(status: Int) {
        for body in ["", "<html>", #"{"error_code":50001,"message":"x"}"#, "{}"] {
            do throws(RegistryError) {
                _ = try RegistryAnswer.read(status: status, Array(body.utf8))
                Issue.record("\(body) is not a schema")
            } catch {
                #expect(error.concernsAll == (status >= 500), "\(error)")
                #expect("\(error)".contains("\(status)"))
            }
        }
    }

    @Test func `error code 40403 means that the schema does not exist`() throws {
        let body = Array(#"{"error_code":40403,"message":"Schema not found"}"#.utf8)
        #expect(try RegistryAnswer.read(status: 404, body) == nil)
    }

    @Test(arguments: [
        (#"{"error_code":40403,"message":"Schema not found"}"#, true),
        (#"{"error_code":40401}"#, true),
        // The server does not know the path, which says nothing about the schema.
        (#"{"error_code":404,"message":"HTTP 404 Not Found"}"#, false),
        (#"{"error_code":40500}"#, false), (#"{"error_code":"40403"}"#, false),
        ("<html>Not Found</html>", false), ("", false),
    ])
    func `a schema is missing only if the registry's error code says so`(
        body: String,
        isMissing: Bool
    ) {
        #expect(RegistryAnswer.saysMissing(Array(body.utf8)) == isMissing)
    }
}
