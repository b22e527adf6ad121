"""
Checks a document against its JSON Schema; errors name the place, what is wrong and what was expected.

`jsonschema` is imported here only, and only when a file has changed: its import takes longer than most vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, reduce
from operator import getitem
from typing import Any, Final

from peerproof.conformance.suite.locations import schema
from peerproof.conformance.suite.strict_yaml import Document, VectorError

_UNKNOWN: Final = "unknown field"
_SHOWN: Final = 200  #: the most characters of a message, which may show a whole document
_IN_WORDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "a text",
    "integer": "an integer",
    "boolean": "true or false",
}


def misfits(document: Document, name: str) -> list[VectorError]:
    """Returns the errors of a document against a schema; unknown fields first, since they explain missing ones."""
    found: list[VectorError] = []
    for error in _validator(name).iter_errors(document.data):
        found += _explain(document, error)
    unique = {str(error): error for error in found}
    return sorted(unique.values(), key=lambda error: (not error.message.startswith(_UNKNOWN), error.line, error.column))


def unfit(data: Any, name: str) -> str | None:
    """Returns the first error of data against a schema as a sentence; None if there is none."""
    error = next(iter(sorted(_validator(name).iter_errors(data), key=lambda error: list(map(str, error.absolute_path)))), None)
    if error is None:
        return None
    where = ".".join(map(str, error.absolute_path))
    return f"{where}: {error.message[:_SHOWN]}" if where else str(error.message[:_SHOWN])


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(schema(name).read_bytes()))


def _explain(document: Document, error: Any) -> Iterator[VectorError]:
    path = tuple(error.absolute_path)
    instance, rule, value, about = error.instance, error.validator, error.validator_value, error.schema
    if rule is None:  # a schema that is `false`; its error has its parent's path
        parent = reduce(getitem, path, document.data)
        key = next(key for key, part in parent.items() if part is instance)
        others = ", ".join(other for other in parent if other != key)
        yield document.error((*path, key), f"{key!r} cannot be combined with {others}", at_key=True)
    elif "propertyNames" in list(error.absolute_schema_path)[-3:]:
        yield document.error((*path, instance), f"expected {_describe_schema(about)}, found {instance!r}", at_key=True)
    elif rule == "additionalProperties":
        allowed = list(about["properties"])
        for key in instance:
            if key not in allowed:
                message = f"{_UNKNOWN} {key!r}{did_you_mean(key, allowed)}; expected {one_of(allowed)}"
                yield document.error((*path, key), message, at_key=True)
    elif rule == "required":
        for key in value:
            if key not in instance:
                where = f" of {path[-1]!r}" if path and isinstance(path[-1], str) else ""
                yield document.error(path, f"missing field {key!r}{where}")
    elif rule == "dependentRequired":
        for key, needed in value.items():
            if key in instance and (missing := [other for other in needed if other not in instance]):
                yield document.error((*path, key), f"{key!r} needs {' and '.join(map(repr, missing))} beside it", at_key=True)
    elif rule == "oneOf":
        if not isinstance(instance, dict):  # its type is wrong, which is reported elsewhere
            return
        names = [name for case in value for name in case["required"]]
        present = [name for name in names if name in instance]
        found = f"found {' and '.join(present)}" if present else "found none of them"
        yield document.error(path, f"expected exactly one of {', '.join(names)}; {found}")
    else:
        yield document.error(path, _misfit(rule, value, instance, about))


def _misfit(rule: str, value: Any, instance: Any, about: dict[str, Any]) -> str:
    match rule:
        case "enum" | "const":
            options = value if rule == "enum" else [value]
            guess = did_you_mean(instance, options) if isinstance(instance, str) else ""
            return f"expected {one_of(options)}, found {_value_text(instance)}{guess}"
        case "minItems":
            return f"expected at least {value} item{'s' if value > 1 else ''}, found {len(instance)}"
        case "maxItems":
            return f"expected at most {value} items, found {len(instance)}"
        case "uniqueItems":
            twice = next(item for item in instance if instance.count(item) > 1)
            return f"{_value_text(twice)} occurs twice"
        case "minProperties" | "maxProperties":
            number = "exactly one" if about.get("maxProperties") == 1 else "at least one"
            return f"expected {number} of {', '.join(about.get('properties', ('any name',)))}, found {_value_text(instance)}"
        case "minimum":
            return f"expected at least {value}, found {instance}"
        case "minLength":
            return "expected a text, found an empty one"
        case "maxLength":
            return f"expected at most {value} characters, found {len(instance)}"
        case _:
            return f"expected {_describe_schema(about)}, found {_value_text(instance)}"


def _describe_schema(about: dict[str, Any]) -> str:
    if "description" in about:
        return str(about["description"])
    return _IN_WORDS[about["type"]] if "type" in about else f"a value of {json.dumps(about)}"


def _value_text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004  # enough to recognise it


def one_of(options: Iterable[Any]) -> str:
    """Options as a list in a sentence."""
    shown = [option if isinstance(option, str) else json.dumps(option) for option in options]
    return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"


def did_you_mean(word: str, known: Sequence[str], likeness: float = 0.6) -> str:
    """Returns a similar known word as the end of a sentence; empty if there is none."""
    close = get_close_matches(word, [option for option in known if isinstance(option, str)], n=1, cutoff=likeness)
    return f" (did you mean {close[0]!r}?)" if close else ""
