import Testing
import YAML

/// The core schema: YAML 1.2.2, section 10.3.2.
@Suite struct YAMLCoreSchemaTests {
    @Test(
        arguments: [
            (
                .null,
                ["", "~", "null", "Null", "NULL"]
            ),
            (
                .boolean,
                ["true", "True", "TRUE", "false", "False", "FALSE"]
            ),
            (
                .integer,
                [
                    "0", "-0", "+0", "7", "007", "08", "-12", "+12", "9223372036854775807",
                    "9223372036854775808", "0o0", "0o17", "0x0", "0x10", "0xfF", "0xDEADBEEF",
                ]
            ),
            (
                .float,
                [
                    "1e3", "1E3", "1e+3", "1e-3", "0e0", "1.", "1.5", "-1.5", "+1.5", ".5", "-.5",
                    "1.e3", ".5E-10", "01.5", "1e999", ".inf", ".Inf", ".INF", "-.inf", "+.INF",
                    ".nan", ".NaN", ".NAN",
                ]
            ),
            (
                .string,
                [
                    "nUll", "NIL", "None", "nil", "~~", "yes", "Yes", "no", "NO", "on", "On", "off",
                    "OFF", "y", "n", "tRUE", "truee", "0b1", "0o", "0o8", "0O17", "0x", "0xg",
                    "0X1F", "-0x1", "+0o7", "1_000", "1:30", "12e", "e3", "1e", "1e+", "1e3.5",
                    ".", "-", "+", "-.", ".e3", "..5", "1..5", "+-1", "--1", "1-", " 1", "1 ",
                    "inf", ".iNF", "nan", "+.nan", "-.NaN", ".nAN", "2024-01-01", "=", "<<", "１",
                    "1\n", "true\u{301}",
                ]
            ),
        ] as [(YAMLKind, [String])]
    )
    func `the text of a plain scalar decides its kind`(kind: YAMLKind, texts: [String]) {
        for text in texts {
            #expect(YAMLCoreSchema.kind(of: text) == kind, "\(text)")
            #expect(YAMLScalar(text, .plain).kind == kind)
            for style in [
                YAMLScalar.Style.singleQuoted, .doubleQuoted, .literal, .folded,
            ] {
                #expect(YAMLScalar(text, style).kind == .string)
            }
        }
    }

    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("+5", 5), ("007", 7), ("-12", -12), ("0o17", 15), ("0o0", 0),
            ("0x10", 16), ("0xfF", 255),
            ("9223372036854775807", .max), ("9223372036854775808", nil),
            ("-9223372036854775808", .min), ("-9223372036854775809", nil),
            ("0x7fffffffffffffff", .max), ("0x8000000000000000", nil),
            ("0o777777777777777777777", .max), ("0o1000000000000000000000", nil),
            ("000000000000000000000000000001", 1),
            ("", nil), ("1e3", nil), ("1.0", nil), ("0o8", nil), ("0x", nil), ("-0x1", nil),
            ("0x-1", nil), ("0o+1", nil), ("1_0", nil), ("ten", nil), ("１", nil),
        ] as [(String, Int?)]
    )
    func `an integer is read in each base if it fits`(text: String, value: Int?) {
        #expect(YAMLCoreSchema.integer(text) == value)
    }

    @Test(
        arguments: [
            ("true", true), ("True", true), ("TRUE", true), ("false", false), ("False", false),
            ("FALSE", false), ("tRUE", nil), ("yes", nil), ("no", nil), ("on", nil), ("1", nil),
            ("", nil),
        ] as [(String, Bool?)]
    )
    func `a boolean is one of six words`(text: String, value: Bool?) {
        #expect(YAMLCoreSchema.boolean(text) == value)
    }

    @Test(
        arguments: [
            ("!!str 5", .string, true), ("! 5", .string, true), ("!!str", .string, true),
            ("!!str true", .string, true), ("!<tag:yaml.org,2002:str> 5", .string, true),
            ("!!int 5", .integer, false), ("!!int \"5\"", .integer, false),
            ("!!int 0x1F", .integer, false), ("!!float 5", .integer, false),
            ("!!float 1.5", .float, false), ("!!float '.inf'", .float, false),
            ("!!bool true", .boolean, false), ("!!bool 'true'", .boolean, false),
            ("!!null", .null, false), ("!!null ''", .null, false), ("!!null ~", .null, false),
            ("5", .integer, false), ("\"5\"", .string, true), ("|\n  5", .string, true),
            ("word", .string, false),
        ] as [(String, YAMLKind, Bool)]
    )
    func `a tag takes precedence over the text`(text: String, kind: YAMLKind, isText: Bool) throws {
        let read = try document(text)
        #expect(read.problems.isEmpty)
        guard case .scalar(let scalar) = read.root?.content else {
            Issue.record("not a scalar")
            return
        }
        #expect(scalar.kind == kind)
        #expect(scalar.isText == isText)
    }
}
