import Glibc
import JSON
import Testing

@Suite struct JSONNumberTests {
    private func parsed(_ text: String) throws -> JSONDocument {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        return document
    }

    private func number(_ text: String) throws -> JSONNumber {
        let document = try parsed(text)
        let number = document.number(document.root)
        return try #require(number)
    }

    /// From the smallest to the largest.
    static let ascending = [
        "-1e400", "-1000000000000000000000001", "-1e24", "-9223372036854775809",
        "-9223372036854775808", "-10", "-1.5", "-1.25", "-1", "-1e-400", "0", "1e-400", "0.05",
        "0.1", "0.10000000000000000000000000000001", "0.5", "1", "1.0000000000000000000001",
        "9.99", "10", "9007199254740992", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "18446744073709551616", "1e308", "1e309", "1e999999999999999999",
    ]

    @Test func `numbers of any size keep their order`() throws {
        for (position, text) in Self.ascending.enumerated() {
            let document = try parsed(text)
            for (other, otherText) in Self.ascending.enumerated() {
                let order = try document.compare(document.root, with: number(otherText))
                #expect(order.signum() == (position - other).signum(), "\(text) and \(otherText)")
                #expect(try (number(text) == number(otherText)) == (position == other))
            }
        }
    }

    @Test(arguments: [
        ["1", "1.0", "10e-1", "0.1E+1", "1.000e0", "0.00001e5"],
        ["0", "-0", "0.0", "0e99", "-0e-9"],
        ["-120", "-1.2e2", "-0.12e3", "-120.00"], ["1e400", "10e399", "0.1e401"],
    ])
    func `different spellings of a number are equal`(spellings: [String]) throws {
        for left in spellings {
            for right in spellings {
                #expect(try number(left) == number(right), "\(left) and \(right)")
                #expect(try number(left).hashValue == number(right).hashValue)
                let document = try parsed("[\(left),\(right)]")
                let isUnique = document.hasUniqueItems(document.root)
                #expect(!isUnique)
            }
        }
    }

    @Test(
        arguments: [
            ("1", true, 1), ("1.0", true, 1), ("1e2", true, 100), ("1.5", false, nil),
            ("1.5e1", true, 15), ("1e400", true, nil), ("1e-1", false, nil), ("0.0", true, 0),
            ("-9223372036854775808", true, .min), ("9223372036854775807", true, .max),
            ("9223372036854775808", true, nil), ("-9223372036854775809.0", true, nil),
            ("9.223372036854775807e18", true, .max), ("120e-1", true, 12), ("125e-1", false, nil),
        ] as [(String, Bool, Int64?)]
    )
    func `an integer is a number without a fraction`(
        text: String,
        isInteger: Bool,
        value: Int64?
    ) throws {
        let document = try parsed(text)
        let found = (document.isInteger(document.root), document.integer(document.root))
        #expect(found == (isInteger, value))
        #expect(try number(text).isInteger == isInteger)
        #expect(try number(text).integer == value)
    }

    @Test(arguments: [
        ("4", "2", true), ("5", "2", false), ("-4", "2", true), ("0", "7", true),
        ("0.0075", "0.0001", true), ("0.00751", "0.0001", false), ("1e308", "0.5", true),
        ("1e308", "0.123456789", false), ("12391239123", "1e-8", true), ("4.5", "1.5", true),
        ("1e400", "3", false), ("3e400", "3", true), ("19.99", "0.01", true),
        ("99999999999999999999", "3", true), ("99999999999999999998", "3", false),
        ("1e1000000000", "7", false), ("7e1000000000", "7", true), ("1", "1e1", false),
        ("9223372036854775807", "9223372036854775807", true), ("30", "1e1", true),
    ])
    func `multiples are checked exactly`(text: String, divisor: String, expected: Bool) throws {
        let document = try parsed(text)
        let isMultiple = try document.isMultiple(document.root, of: number(divisor))
        #expect(isMultiple == expected)
    }

    @Test(arguments: [
        ("1", true), ("0", false), ("-1", false), ("0.1234567890123456789", true),
        ("1.0000000000000000001", false), ("1e999", true),
    ])
    func `a divisor is positive and has at most 19 digits`(text: String, expected: Bool) throws {
        #expect(try number(text).isDivisor == expected)
    }

    private static let zeros = String(repeating: "0", count: 400)

    /// The results of Python's `float`.
    @Test(
        arguments: [
            ("1\(zeros)e-1", .infinity), ("1\(zeros)e-400", 1), ("1\(zeros)e-91", .infinity),
            ("1\(zeros)e-100", 1e300), ("0.\(zeros)1e401", 1), ("0.\(zeros)1e1", 0),
            ("0.\(zeros)1e101", 1e-300), ("-1\(zeros)e-1", -.infinity), ("1e-0\(zeros)1", 0.1),
            ("1E+400", .infinity), ("1E-400", 0), ("0e999999999999999999999", 0),
            ("1e-99999999999999999999", 0), ("1e99999999999999999999", .infinity),
            ("1\(zeros)e-99999999999999999999", 0), ("0.\(zeros)1e99999999999999999999", .infinity),
            ("2.4703282292062327e-324", 0), ("2.4703282292062328e-324", .leastNonzeroMagnitude),
            ("1.7976931348623158e308", .greatestFiniteMagnitude),
            ("1.797693134862315808e308", .infinity),
        ] as [(String, Double)]
    )
    func `a number is rounded to the nearest double`(text: String, value: Double) throws {
        let document = try parsed(text)
        #expect(document.double(document.root) == value)
    }

    /// The C library accepts the same numbers, and more.
    @Test(arguments: [0, 1, 16, 17, 20, 307, 308, 309, 310, 400, 5_000])
    func `every spelling of a number is rounded as in the C library`(length: Int) throws {
        let (zeros, nines) = (
            String(repeating: "0", count: length), String(repeating: "9", count: length)
        )
        // A mantissa, and the exponent that scales it to between one and ten.
        let mantissas = [
            ("1\(zeros)", -length), ("0.\(zeros)1", length + 1), ("9\(nines)", -length),
            ("1\(zeros).\(nines)1", -length), ("0.\(zeros)\(nines)9", length + 1),
            ("2\(zeros).\(zeros)5", -length),
        ]
        let exponents =
            [-5_000, -400, -17, -1, 0, 1, 17, 400, 5_000] + Array(-326...(-305)) + Array(305...310)
        for (mantissa, shift) in mantissas {
            for exponent in exponents.map({ $0 + shift }) + [-1, 0, 1] {
                let forms = [
                    "\(mantissa)e\(exponent)", "-\(mantissa)E\(exponent)",
                    "\(mantissa)e\(exponent < 0 ? "-" : "+")00\(abs(exponent))",
                ]
                for text in forms {
                    let document = try parsed(text)
                    let value = try #require(document.double(document.root))
                    let other = unsafe strtod(text, nil)
                    #expect(value.bitPattern == other.bitPattern, "\(text)")
                }
            }
        }
    }

    @Test func `a number is written as it was read`() throws {
        for text in ["1.50", "1e400", "123456789012345678901234567890", "-0.0"] {
            var writer = JSONWriter()
            writer.value(try JSONValue.parse(Array(text.utf8)))
            let expected = text == "-0.0" ? "0" : text
            #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
        }
    }
}
