import Testing
import Vocabulary

@Suite struct CampaignNameTests {
    @Test(
        arguments: [
            ("a", true), (" ", true), ("", false), ("spring sale/2026|ü", true),
            (String(repeating: "é", count: 128), true),
            (String(repeating: "😀", count: 128), true),
            (String(repeating: "a", count: 129), false),
            // One letter for a reader, and two characters for JSON Schema.
            (String(repeating: "e\u{301}", count: 64), true),
            (String(repeating: "e\u{301}", count: 65), false),
            ("a\n", false), ("\u{0}", false), ("\u{1f}", false), ("\u{7f}", false),
            ("\u{80}", false), ("\u{9f}", false), ("\u{a0}", true), ("\u{2028}", true),
        ]
    )
    func `a name has 1 to 128 characters, and no control character`(
        text: String,
        isName: Bool
    ) throws {
        let name = CampaignName(text)
        #expect((name != nil) == isName)
        #expect(name == CampaignName(utf8: Array(text.utf8)))
        guard let name else { return }
        #expect(name.description.utf8.elementsEqual(text.utf8))
        let copy = CampaignName(checked: text.utf8.span)
        let isEqual = (own: name.isEqual(text.utf8.span), other: name.isEqual("other".utf8.span))
        #expect(name == copy)
        #expect(isEqual == (true, false))
    }

    @Test func `bytes that are not UTF-8 are no name`() {
        for bytes: [UInt8] in [[], [0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80]] {
            #expect(CampaignName(utf8: bytes) == nil)
        }
    }

    @Test func `names are equal and ordered by their bytes`() throws {
        let texts = ["a", "a ", "aa", "b", "e\u{301}", "\u{e9}"]
        let names = try texts.map { try #require(CampaignName($0)) }
        #expect(Set(names).count == texts.count)
        #expect(names.reversed().sorted() == names)
    }

    /// Tens of thousands of events and outcomes are in memory at a time.
    @Test func `a name takes one word`() {
        #expect(MemoryLayout<CampaignName?>.size == 8)
    }
}
