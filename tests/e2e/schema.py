# SPDX-License-Identifier: MIT
"""Checks values against the part of JSON Schema that docs/schemas uses."""
from harness import expect

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_kind(value, kind):
    if kind in ("number", "integer"):
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, KINDS[kind])


def misfits(value, schema, where="$"):
    """What in `value` breaks `schema`: the part of JSON Schema that docs/schemas uses."""
    unknown = set(schema) - {"$schema", "title", "type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"}
    expect(not unknown, f"the schema has keywords that are not checked here: {unknown}")
    if "anyOf" in schema:
        tries = [misfits(value, option, where) for option in schema["anyOf"]]
        return [] if [] in tries else tries[0]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r} is none of {schema['enum']}"]
    kinds = schema.get("type")
    if kinds and not any(is_kind(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        return [f"{where}: {value!r} is no {kinds}"]
    if isinstance(value, list):
        return [one for i, item in enumerate(value) for one in misfits(item, schema.get("items", {}), f"{where}[{i}]")]
    if not isinstance(value, dict):
        return []
    found = [f"{where}: {key} is missing" for key in schema.get("required", []) if key not in value]
    others = schema.get("additionalProperties", {})
    for key, item in value.items():
        inner = schema.get("properties", {}).get(key, others)
        found += [f"{where}: {key} is not in the schema"] if inner is False else misfits(item, inner, f"{where}.{key}")
    return found
