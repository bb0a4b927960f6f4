import Testing
import Vocabulary

@Suite struct Base64Tests {
    /// From RFC 4648, section 10, and the two characters in which the alphabets differ.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"), ("~~?", "fn4/"), ("~~>", "fn4+"),
    ])
    func `encoded text decodes to itself`(plain: String, standard: String) {
        let url = standard.replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
        for (alphabet, coded) in [(Base64.standard, standard), (.url, url)] {
            var text = Array("before ".utf8)
            alphabet.append(Array(plain.utf8), to: &text)
            #expect(String(decoding: text, as: UTF8.self) == "before \(coded)")
            #expect(alphabet.decode(coded.utf8) == Array(plain.utf8))
        }
    }

    @Test(arguments: [Base64.standard, .url])
    func `each byte is decoded correctly at each position in a group`(alphabet: Base64) {
        for count in 253...256 {
            let bytes = (0..<count).map { UInt8($0) }
            var text: [UInt8] = []
            alphabet.append(bytes, to: &text)
            #expect(alphabet.decode(text) == bytes)
        }
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9", "Zm9=", "Zm8==", "Zm9v=", "Zm9v====", "Z===",
        "=", "====", "Zg==Zg==", "Zm9-", "Zm9_", "Zm 9", "Zm9v\n", "é===",
    ])
    func `text that no encoder produces is refused`(text: String) {
        #expect(Base64.standard.decode(text.utf8) == nil)
    }

    @Test(arguments: ["Z", "Zg==", "Zm8=", "=", "Zm9v+", "Zm9/", "Zm 9", "Zm9v\n", "Zh"])
    func `text that no URL-safe encoder produces is refused`(text: String) {
        #expect(Base64.url.decode(text.utf8) == nil)
    }

    @Test func `each alphabet accepts only its own digits`() {
        let bytes = (0...UInt8.max).filter { Base64.standard.isDigit($0) }
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        )
        #expect(Base64.url.isDigit(UInt8(ascii: "-")) && !Base64.url.isDigit(UInt8(ascii: "+")))
    }
}
