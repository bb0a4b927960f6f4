import EventCodec
import Testing
import Vocabulary

@Suite struct TimestampTextTests {
    @Test func `a timestamp is written the way it is read`() {
        for milliseconds: Int64 in [0, 951_782_400_123, 1_709_251_199_999, -1] {
            let text = Array(Timestamp(milliseconds: milliseconds).rfc3339Text.utf8)
            #expect(Timestamp(rfc3339: text[...])?.milliseconds == milliseconds)
        }
    }
}
