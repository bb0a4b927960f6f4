import Testing
import Tools
import Vocabulary

@Suite struct DeadLetterPositionsTests {
    @Test(arguments: ["0@120", "0@120,1@98", "7@0,12@9223372036854775807"])
    func `printed positions can be parsed again`(text: String) {
        #expect(DeadLetterPositions(text)?.description == text)
    }

    @Test(arguments: ["", "0", "0@", "@1", "0@1,", "0@1,0@2", "-1@2", "0@-1", "0 @1", "topic[0]@1"])
    func `anything else is refused`(text: String) {
        #expect(DeadLetterPositions(text) == nil)
    }

    @Test func `an unnamed partition starts at its beginning`() {
        #expect(DeadLetterPositions("1@5")?[0] == Offset(0))
    }
}
