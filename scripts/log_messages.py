"""The log messages of level notice and above in the Swift sources.

A call is `log.LEVEL("message", …)` or `log.log(LEVELS, "message", …)`. The message is a string, a
choice of strings, a name that the enclosing function (or, for a static constant, the file) sets to
one, or a parameter of that function.
"""

import re

LEVELS = ("notice", "warning", "error", "critical")
# `log`, `log(ofShard: index)`, `log.everyLine`; other types have a method `error`, too.
CALL = re.compile(
    rf"\blog(?:\(\w[^()]*\))?(?:\.everyLine)?\.({'|'.join(LEVELS)}|log)\("
    r"|\.(?:notice|warning|critical)\("
)
NAME = re.compile(r"(?:Self\.)?(\w+)$")
FUNCTION = re.compile(r"\bfunc (\w+)\(")


def end_of_string(text, start):
    """The end of the string literal that begins at `start`, and its content."""
    quote = '"""' if text.startswith('"""', start) else '"'
    at = start + len(quote)
    content = ""
    while not text.startswith(quote, at):
        if text.startswith("\\(", at):
            at = end_of_argument(text, at + 2) + 1
            content += "" if content.endswith("…") else "…"
        elif text[at] == "\\":
            content += "" if text[at + 1] == "\n" else text[at + 1]
            at += 2
        else:
            content += text[at]
            at += 1
    return at + len(quote), " ".join(content.split())


def end_of_argument(text, start, found=None):
    """The position of the comma or closing bracket after the expression; adds its strings to `found`."""
    depth, at = 0, start
    while depth or text[at] not in ",)]}":
        if text[at] == '"':
            at, content = end_of_string(text, at)
            if found is not None:
                found.append(content)
            continue
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return at


def strings(text, start):
    found = []
    end_of_argument(text, start, found)
    return found


def named(text, name, call):
    """The strings that a name can have at a call."""
    functions = list(FUNCTION.finditer(text, 0, call))
    start = functions[-1].start() if functions else 0
    if re.search(rf"\b_ {name}: \w+", text[start:call].partition("{")[0]):
        places = re.finditer(rf"(?<!func )\b{functions[-1][1]}\((?=\")", text)
    else:
        condition = r"(?:[^\"{}=]*(?:==[^\"{}=]*)?\?\s+)?"
        sets = re.compile(rf"\b{name}(?:: \w+)? =\s+{condition}(?=\")")
        places = list(sets.finditer(text, start, call)) or sets.finditer(text)
    return [string for place in places for string in choice(text, place.end())]


def choice(text, at):
    """The string that begins at `at`, and the alternatives after each colon."""
    while True:
        at, content = end_of_string(text, at)
        yield content
        more = re.compile(r"\s+: (?=\")").match(text, at)
        if not more:
            return
        at = more.end()


def messages(text):
    """Each message with its levels; None for a message that was not found."""
    for call in CALL.finditer(text):
        at = call.end()
        levels = [call[1]]
        if call[1] == "log":
            end = end_of_argument(text, at)
            levels = [level for level in LEVELS if f".{level}" in text[at:end]]
            at = end + 1
        if not levels:
            continue
        argument = text[at : end_of_argument(text, at)].strip()
        name = NAME.fullmatch(argument) or re.fullmatch(r'"\\\((\w+)\)"', argument)
        found = named(text, name[1], call.start()) if name else strings(text, at)
        line = text.count("\n", 0, call.start()) + 1
        for message in found if call[1] and found else [None]:
            yield line, message, levels
