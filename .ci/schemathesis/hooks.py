"""Makes generated requests meet what is stored: in valid column keys and names of families, the family becomes f or g.
A request stays valid or invalid as it was. Families are created as s, t and u, so that their number is bounded."""

import re

import schemathesis

COLUMN_KEY = re.compile(r"[A-Za-z0-9_.#$-]{1,200}(:.*)?", re.DOTALL)
NAMES = {"column_key", "delete_family", "family_name", "multi_key", "families", "name"}


def stored(value, family):
    """Returns a column key, the name of a family, or a list of these, with a family that is stored."""
    if isinstance(value, list):
        return [stored(v, "fg"[i % 2]) for i, v in enumerate(value)]
    if isinstance(value, str) and (match := COLUMN_KEY.fullmatch(value)):
        return family + (match[1] or "")
    return value


def rewritten(value, inside=None):
    """Returns a body, or a part of it in the field called inside, with stored families."""
    if isinstance(value, list):
        return [rewritten(v, inside) for v in value]
    if not isinstance(value, dict):
        return value
    names = NAMES | {"key"} if inside in ("column", "column_filter") else NAMES
    return {k: stored(v, "fg"[len(value) % 2]) if k in names else rewritten(v, k) for k, v in value.items()}


@schemathesis.hook
def map_body(context, body):
    if context.operation.path == "/v1/table/{table}/column-family" and isinstance(body, dict):
        families = body.get("column_families")
        if isinstance(families, list):
            for i, family in enumerate(families):
                if isinstance(family, dict) and "name" in family:
                    family["name"] = stored(family["name"], "stu"[i % 3])
        return body
    if context.operation.path == "/v1/table/{table}":
        return body
    return rewritten(body)
