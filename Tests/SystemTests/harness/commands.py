"""Runs commands of `heliograph` to their end."""

import dataclasses
import re

import yaml

from .processes import Child, built_binary


@dataclasses.dataclass(frozen=True)
class Ended:
    """What a command printed, line by line, and its exit code."""

    code: int
    out: list
    err: list

    @property
    def output(self):
        return "\n".join(self.out + self.err)


def running_command(folder, settings, *arguments, environment=None):
    """Starts `heliograph ARGUMENTS --config ...` with these settings and extra variables."""
    path = folder / "command.yaml"
    path.write_text(yaml.safe_dump(settings))
    command = [built_binary("heliograph"), *map(str, arguments), "--config", str(path)]
    return Child(command, environment)


def run_command(folder, settings, *arguments, seconds=60, environment=None):
    """The same, waiting for the end."""
    with running_command(folder, settings, *arguments, environment=environment) as child:
        code = child.wait_for_exit(seconds)
        return Ended(code, child.lines("stdout"), child.lines("stderr"))


def librdkafka_version(folder, settings):
    """The one that the programs run with, such as (2, 0, 2)."""
    settings = {**settings, "kafka": {**settings["kafka"], "properties": {"no.such.property": 1}}}
    told = run_command(folder, settings, "check").output
    [version] = re.findall(r"librdkafka (\S+) has no such property", told)
    return tuple(map(int, version.split(".")))
