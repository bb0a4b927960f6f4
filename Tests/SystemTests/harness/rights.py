"""What a principal of Apache Kafka may do, and what `docs/kafka.md` says that it must."""

import re

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from .deadlines import eventually
from .processes import ROOT

PATIENCE = 60
OPERATION = re.compile(r"\b(Read|Write|Describe|Create|IdempotentWrite|DescribeConfigs)\b")


class Rights:
    """What the principal may do with what is named here: (kind, name, operation).

    A name that ends with an asterisk is a prefix.
    """

    def __init__(self, apache, principal):
        self._admin = AdminClient({"bootstrap.servers": apache.server("PLAIN"), "log_level": 0})
        self._principal = principal
        self._given = set()

    def set(self, rights):
        """Gives these, and takes all others away that were given here."""
        rights = set(rights)
        taken = self._given - rights
        self._do(self._admin.create_acls, AclBinding, rights - self._given)
        self._do(self._admin.delete_acls, AclBindingFilter, taken)
        self._given = rights
        # The controller answers before the broker, which decides, has heard of it.
        eventually(lambda: self._are_known(rights, taken), PATIENCE, "the broker to know of rights")

    def _do(self, change, kind_of, rights):
        bindings = [self._binding(kind_of, *right) for right in rights]
        for future in change(bindings).values() if bindings else ():
            future.result(PATIENCE)

    def _are_known(self, given, taken):
        known = self._known()
        return given <= known and not taken & known

    def _known(self):
        """What the broker lets the principal do."""
        every = AclBindingFilter(
            ResourceType.ANY,
            None,
            ResourcePatternType.ANY,
            f"User:{self._principal}",
            None,
            AclOperation.ANY,
            AclPermissionType.ALLOW,
        )
        bindings = self._admin.describe_acls(every).result(PATIENCE)
        return {self._right(binding) for binding in bindings}

    @staticmethod
    def _right(binding):
        is_prefix = binding.resource_pattern_type == ResourcePatternType.PREFIXED
        name = binding.name + "*" * is_prefix
        return binding.restype.name, name, binding.operation.name

    def _binding(self, kind_of, kind, name, operation):
        is_prefix = name.endswith("*")
        return kind_of(
            ResourceType[kind],
            name.removesuffix("*"),
            ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL,
            f"User:{self._principal}",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )


def documented(first):
    """{(its other cells): the operations in the last} of the page's table with this first row."""
    page = (ROOT / "docs" / "kafka.md").read_text()
    _, _, table = page.partition(f"\n| {first} |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {tuple(row[:-1]): OPERATION.findall(row[-1]) for row in cells}
