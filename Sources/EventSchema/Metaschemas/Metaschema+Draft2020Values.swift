// The text of the specification; it is not edited here.
// swift-format-ignore-file

extension Metaschema {
    /// The vocabularies of draft 2020-12 for values (https://json-schema.org/draft/2020-12).
    static let draft2020Values: [Metaschema] = [
        Metaschema(uri: "https://json-schema.org/draft/2020-12/meta/validation", text: #"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "$id": "https://json-schema.org/draft/2020-12/meta/validation",
              "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/validation": true
              },
              "$dynamicAnchor": "meta",
              "title": "Validation vocabulary meta-schema",
              "type": [
                "object",
                "boolean"
              ],
              "properties": {
                "type": {
                  "anyOf": [
                    {
                      "$ref": "#/$defs/simpleTypes"
                    },
                    {
                      "type": "array",
                      "items": {
                        "$ref": "#/$defs/simpleTypes"
                      },
                      "minItems": 1,
                      "uniqueItems": true
                    }
                  ]
                },
                "const": true,
                "enum": {
                  "type": "array",
                  "items": true
                },
                "multipleOf": {
                  "type": "number",
                  "exclusiveMinimum": 0
                },
                "maximum": {
                  "type": "number"
                },
                "exclusiveMaximum": {
                  "type": "number"
                },
                "minimum": {
                  "type": "number"
                },
                "exclusiveMinimum": {
                  "type": "number"
                },
                "maxLength": {
                  "$ref": "#/$defs/nonNegativeInteger"
                },
                "minLength": {
                  "$ref": "#/$defs/nonNegativeIntegerDefault0"
                },
                "pattern": {
                  "type": "string",
                  "format": "regex"
                },
                "maxItems": {
                  "$ref": "#/$defs/nonNegativeInteger"
                },
                "minItems": {
                  "$ref": "#/$defs/nonNegativeIntegerDefault0"
                },
                "uniqueItems": {
                  "type": "boolean",
                  "default": false
                },
                "maxContains": {
                  "$ref": "#/$defs/nonNegativeInteger"
                },
                "minContains": {
                  "$ref": "#/$defs/nonNegativeInteger",
                  "default": 1
                },
                "maxProperties": {
                  "$ref": "#/$defs/nonNegativeInteger"
                },
                "minProperties": {
                  "$ref": "#/$defs/nonNegativeIntegerDefault0"
                },
                "required": {
                  "$ref": "#/$defs/stringArray"
                },
                "dependentRequired": {
                  "type": "object",
                  "additionalProperties": {
                    "$ref": "#/$defs/stringArray"
                  }
                }
              },
              "$defs": {
                "nonNegativeInteger": {
                  "type": "integer",
                  "minimum": 0
                },
                "nonNegativeIntegerDefault0": {
                  "$ref": "#/$defs/nonNegativeInteger",
                  "default": 0
                },
                "simpleTypes": {
                  "enum": [
                    "array",
                    "boolean",
                    "integer",
                    "null",
                    "number",
                    "object",
                    "string"
                  ]
                },
                "stringArray": {
                  "type": "array",
                  "items": {
                    "type": "string"
                  },
                  "uniqueItems": true,
                  "default": []
                }
              }
            }
            """#),
        Metaschema(uri: "https://json-schema.org/draft/2020-12/meta/format-annotation", text: #"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "$id": "https://json-schema.org/draft/2020-12/meta/format-annotation",
              "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/format-annotation": true
              },
              "$dynamicAnchor": "meta",
              "title": "Format vocabulary meta-schema for annotation results",
              "type": [
                "object",
                "boolean"
              ],
              "properties": {
                "format": {
                  "type": "string"
                }
              }
            }
            """#),
        Metaschema(uri: "https://json-schema.org/draft/2020-12/meta/format-assertion", text: #"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "$id": "https://json-schema.org/draft/2020-12/meta/format-assertion",
              "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/format-assertion": true
              },
              "$dynamicAnchor": "meta",
              "title": "Format vocabulary meta-schema for assertion results",
              "type": [
                "object",
                "boolean"
              ],
              "properties": {
                "format": {
                  "type": "string"
                }
              }
            }
            """#),
        Metaschema(uri: "https://json-schema.org/draft/2020-12/meta/content", text: #"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "$id": "https://json-schema.org/draft/2020-12/meta/content",
              "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/content": true
              },
              "$dynamicAnchor": "meta",
              "title": "Content vocabulary meta-schema",
              "type": [
                "object",
                "boolean"
              ],
              "properties": {
                "contentEncoding": {
                  "type": "string"
                },
                "contentMediaType": {
                  "type": "string"
                },
                "contentSchema": {
                  "$dynamicRef": "#meta"
                }
              }
            }
            """#),
        Metaschema(uri: "https://json-schema.org/draft/2020-12/meta/meta-data", text: #"""
            {
              "$schema": "https://json-schema.org/draft/2020-12/schema",
              "$id": "https://json-schema.org/draft/2020-12/meta/meta-data",
              "$vocabulary": {
                "https://json-schema.org/draft/2020-12/vocab/meta-data": true
              },
              "$dynamicAnchor": "meta",
              "title": "Meta-data vocabulary meta-schema",
              "type": [
                "object",
                "boolean"
              ],
              "properties": {
                "title": {
                  "type": "string"
                },
                "description": {
                  "type": "string"
                },
                "default": true,
                "deprecated": {
                  "type": "boolean",
                  "default": false
                },
                "readOnly": {
                  "type": "boolean",
                  "default": false
                },
                "writeOnly": {
                  "type": "boolean",
                  "default": false
                },
                "examples": {
                  "type": "array",
                  "items": true
                }
              }
            }
            """#),
    ]
}
