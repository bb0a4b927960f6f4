"""Checks the shipped schemas with independent code."""

import datetime
import functools
import json
import re

import jsonschema

from .processes import ROOT

SCHEMAS = ROOT / "schemas"
EXAMPLES = SCHEMAS / "examples"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.schema.json"))
# The schema of each kind of topic, by the suffix of its name (`Topics.create`).
CONTRACTS = {".results": "notification-outcome.v1", ".token-status": "token-status.v1"}

_formats = jsonschema.FormatChecker(["uuid"])
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@_formats.checks("date-time", raises=ValueError)
def _is_date_time(value):
    """jsonschema needs extra packages for this format."""
    if not isinstance(value, str):
        return True
    if not _RFC_3339.fullmatch(value):
        raise ValueError("not as RFC 3339 has it")
    # Python before 3.11 accepts only three or six fraction digits.
    datetime.datetime.fromisoformat(re.sub(r"\.\d+", "", value).replace("Z", "+00:00"))
    return True


@functools.cache
def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, format_checker=_formats)


def assert_kept(topic, messages):
    """Asserts that every record matches the schema of its topic, if it has one."""
    names = [name for end, name in CONTRACTS.items() if topic.endswith(end)]
    for name in names:
        for message in messages:
            if message.value() is None:
                continue
            errors = [
                f"{error.json_path}: {error.message}"
                for error in validator(name).iter_errors(json.loads(message.value()))
            ]
            assert not errors, f"{topic}: {errors} in {message.value().decode()}"
