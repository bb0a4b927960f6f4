"""Schemas and documents made by dice: the same seed makes the same ones."""

import random

DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
NAMES = ["a", "b", "c", "foo", "bar", "x-1", "é", "a/b", "m~n", ""]
# Understood alike by Python's re and by RE2, and by the regular expressions of JSON Schema.
PATTERNS = ["^a", "o$", "^[a-c]+$", "b", "^x-", "^.{2,3}$", "[0-9]", "^(foo|bar)$", "\\d+"]
TEXTS = ["", "a", "ab", "abc", "foo", "bar", "x-1", "é", "😀", "12", "a\nb", "0", "null"]
NUMBERS = [0, 1, 2, 3, 5, 10, -1, -7, 0.5, 1.0, 1.5, 2.0, -0.0, 1e3, 12345678901, 0.25]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


class Generator:
    """One case: a schema, and documents that go with it."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._definitions = 0
        self._is_draft_07 = self._random.random() < 0.3

    # Schemas

    def schema(self):
        """A whole schema, with definitions that its subschemas refer to."""
        self._definitions = self._random.randrange(4)
        key = "definitions" if self._is_draft_07 else "$defs"
        root = self._subschema(3, self._definitions)
        while not isinstance(root, dict) or "$ref" in root:
            root = self._subschema(3, self._definitions)
        # A definition refers only to those before it where nothing is consumed: no endless loops.
        definitions = {f"d{n}": self._subschema(2, n) for n in range(self._definitions)}
        root = {"$schema": DRAFT_07 if self._is_draft_07 else DRAFT_2020, **root}
        return {**root, key: definitions} if definitions else root

    def _subschema(self, depth, reach):
        """A schema; `reach` says how many definitions it may refer to for the same value."""
        dice = self._random
        if dice.random() < 0.08:
            return dice.random() < 0.7
        if depth == 0:
            return self._keywords(self._scalar_keywords(), 2, depth, reach)
        count = dice.choice([1, 1, 2, 2, 3, 4])
        return self._keywords(self._all_keywords(), count, depth, reach)

    def _keywords(self, makers, count, depth, reach):
        schema = {}
        for name in self._random.sample(sorted(makers), min(count, len(makers))):
            makers[name](schema, depth, reach)
        if isinstance(schema.get("items"), bool):
            # It means nothing there, and Python's jsonschema 4 raises a TypeError.
            schema.pop("additionalItems", None)
        return schema

    def _scalar_keywords(self):
        dice = self._random

        def limit(name):
            return lambda schema, depth, reach: schema.update({name: dice.randrange(4)})

        def number(name):
            return lambda schema, depth, reach: schema.update({name: dice.choice(NUMBERS)})

        makers = {name: limit(name) for name in ("minLength", "maxLength", "minItems", "maxItems")}
        makers |= {name: limit(name) for name in ("minProperties", "maxProperties")}
        bounds = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        makers |= {name: number(name) for name in bounds}
        makers["type"] = lambda schema, depth, reach: schema.update(type=self._type())
        makers["const"] = lambda schema, depth, reach: schema.update(const=self.value(2))
        makers["enum"] = lambda schema, depth, reach: schema.update(enum=self._enumeration())
        makers["pattern"] = lambda schema, depth, reach: schema.update(
            pattern=dice.choice(PATTERNS)
        )
        makers["uniqueItems"] = lambda schema, depth, reach: schema.update(uniqueItems=True)
        makers["multipleOf"] = lambda schema, depth, reach: schema.update(
            multipleOf=dice.choice([1, 2, 3, 0.5, 0.25, 2.0])
        )
        makers["required"] = lambda schema, depth, reach: schema.update(required=self._names())
        return makers

    def _all_keywords(self):
        makers = self._scalar_keywords()

        def one(name, consumes):
            def make(schema, depth, reach):
                below = self._definitions if consumes else reach
                schema[name] = self._subschema(depth - 1, below)

            return make

        def several(name, consumes):
            def make(schema, depth, reach):
                below = self._definitions if consumes else reach
                count = self._random.randrange(1, 4)
                schema[name] = [self._subschema(depth - 1, below) for _ in range(count)]

            return make

        def named(name, consumes, names):
            def make(schema, depth, reach):
                below = self._definitions if consumes else reach
                chosen = self._random.sample(names, self._random.randrange(1, 4))
                schema[name] = {each: self._subschema(depth - 1, below) for each in chosen}

            return make

        makers |= {name: several(name, False) for name in ("allOf", "anyOf", "oneOf")}
        makers |= {"not": one("not", False), "if": self._condition, "contains": self._contains}
        makers |= {name: one(name, True) for name in ("additionalProperties", "propertyNames")}
        makers["properties"] = named("properties", True, NAMES)
        makers["patternProperties"] = named("patternProperties", True, PATTERNS)
        makers["items"] = one("items", True)
        makers["reference"] = self._reference
        if self._is_draft_07:
            makers["items list"] = several("items", True)
            makers["additionalItems"] = one("additionalItems", True)
            makers["dependencies"] = self._dependencies
        else:
            makers["prefixItems"] = several("prefixItems", True)
            makers["dependentSchemas"] = named("dependentSchemas", False, NAMES)
            makers["dependentRequired"] = self._dependent_required
            makers["unevaluatedProperties"] = one("unevaluatedProperties", True)
            makers["unevaluatedItems"] = one("unevaluatedItems", True)
        return makers

    def _condition(self, schema, depth, reach):
        schema["if"] = self._subschema(depth - 1, reach)
        for branch in ("then", "else"):
            if self._random.random() < 0.8:
                schema[branch] = self._subschema(depth - 1, reach)

    def _contains(self, schema, depth, reach):
        schema["contains"] = self._subschema(depth - 1, self._definitions)
        if not self._is_draft_07 and self._random.random() < 0.5:
            schema["minContains"] = self._random.randrange(3)
        if not self._is_draft_07 and self._random.random() < 0.3:
            schema["maxContains"] = self._random.randrange(1, 4)

    def _reference(self, schema, depth, reach):
        if reach:
            key = "definitions" if self._is_draft_07 else "$defs"
            schema["$ref"] = f"#/{key}/d{self._random.randrange(reach)}"

    def _dependent_required(self, schema, depth, reach):
        schema["dependentRequired"] = {self._name(): self._names() for _ in range(2)}

    def _dependencies(self, schema, depth, reach):
        schema["dependencies"] = {
            self._name(): self._names() if self._random.random() < 0.5 else below
            for below in [self._subschema(1, reach) for _ in range(2)]
        }

    def _type(self):
        if self._random.random() < 0.7:
            return self._random.choice(TYPES)
        return self._random.sample(TYPES, self._random.randrange(1, 4))

    def _enumeration(self):
        values = [self.value(1) for _ in range(self._random.randrange(1, 5))]
        return [value for n, value in enumerate(values) if value not in values[:n]]

    def _name(self):
        return self._random.choice(NAMES)

    def _names(self):
        return self._random.sample(NAMES, self._random.randrange(3))

    # Documents

    def document(self, schema):
        """A document; as a rule one that the schema might take."""
        return self.value(3) if self._random.random() < 0.3 else self._guided(schema, 4)

    def value(self, depth):
        """Any JSON value."""
        dice = self._random
        kind = dice.randrange(7 if depth > 0 else 5)
        if kind == 0:
            return None
        if kind == 1:
            return dice.random() < 0.5
        if kind == 2:
            return dice.choice(NUMBERS)
        if kind in (3, 4):
            return dice.choice(TEXTS)
        if kind == 5:
            return [self.value(depth - 1) for _ in range(dice.randrange(4))]
        return {self._name(): self.value(depth - 1) for _ in range(dice.randrange(4))}

    def _guided(self, schema, depth):
        if not isinstance(schema, dict) or depth == 0 or self._random.random() < 0.1:
            return self.value(1)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._random.choice(schema["enum"])
        if self._looks_like_object(schema):
            return self._guided_object(schema, depth)
        if self._looks_like_array(schema):
            return self._guided_array(schema, depth)
        for name in ("allOf", "anyOf", "oneOf"):
            if name in schema:
                return self._guided(self._random.choice(schema[name]), depth - 1)
        for name in ("then", "if", "not"):
            if name in schema:
                return self._guided(schema[name], depth - 1)
        return self.value(2)

    @staticmethod
    def _looks_like_object(schema):
        names = ("properties", "required", "patternProperties", "additionalProperties")
        more = ("unevaluatedProperties", "propertyNames", "minProperties", "dependentSchemas")
        return schema.get("type") == "object" or any(name in schema for name in names + more)

    @staticmethod
    def _looks_like_array(schema):
        names = ("items", "prefixItems", "contains", "unevaluatedItems", "minItems", "uniqueItems")
        return schema.get("type") == "array" or any(name in schema for name in names)

    def _guided_object(self, schema, depth):
        names = [name for name in schema.get("required", []) if self._random.random() < 0.9]
        properties = schema.get("properties", {})
        names += [name for name in properties if self._random.random() < 0.7]
        names += [self._name() for _ in range(self._random.randrange(2))]
        return {
            name: self._guided(properties.get(name, schema.get("additionalProperties")), depth - 1)
            for name in names
        }

    def _guided_array(self, schema, depth):
        places = schema.get("prefixItems", schema.get("items"))
        places = places if isinstance(places, list) else []
        rest = schema.get("contains", schema.get("items"))
        length = self._random.randrange(5)
        return [
            self._guided(places[n] if n < len(places) else rest, depth - 1) for n in range(length)
        ]
