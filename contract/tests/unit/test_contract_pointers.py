"""JSON pointers read, write and escape as RFC 6901 says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.input_schema import schema_at, schema_defaults, schema_expanded
from gpuaas_contract.pointers import (
    MISSING,
    pointer_checked,
    pointer_make,
    pointer_parts,
    pointer_read,
    pointer_written,
)

# The document and pointers of RFC 6901, section 5.
RFC: dict[str, Any] = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "m~n": 8, " ": 7}


@pytest.mark.parametrize(
    ("pointer", "value"),
    [("", RFC), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/m~0n", 8), ("/ ", 7)],
)
def test_the_examples_of_the_specification(pointer: str, value: Any) -> None:
    assert pointer_read(RFC, pointer) == value


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/01", "/foo/-1", "/none", "/foo/bar", "/a/b"])
def test_nothing_there_is_missing(pointer: str) -> None:
    assert pointer_read(RFC, pointer) is MISSING


@given(st.lists(st.text(max_size=5), max_size=5))
def test_parts_survive(parts: list[str]) -> None:
    assert pointer_parts(pointer_checked(pointer_make(parts))) == parts


@pytest.mark.parametrize("text", ["x", "x/y", "/~", "/~2"])
def test_other_texts_are_no_pointers(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON pointer"):
        pointer_checked(text)


def test_writing_makes_objects_and_leaves_everything_else_alone() -> None:
    document = {"a": {"b": 1}, "list": [1], "text": "x"}
    assert pointer_written(document, "/a/c/d", 2) == {**document, "a": {"b": 1, "c": {"d": 2}}}
    assert document == {"a": {"b": 1}, "list": [1], "text": "x"}
    assert pointer_written(document, "/list/0", 2) == document
    assert pointer_written(document, "/text/x", 2) == document


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "s": {"$ref": "#/$defs/s", "default": {}},
        "o": {"$ref": "#/$defs/s"},
        "l": {"type": "array", "items": {"type": "integer"}},
    },
    "$defs": {"s": {"type": "object", "properties": {"p": {"type": "integer", "default": 1}}}},
}


def test_a_schema_is_walked_through_references() -> None:
    assert schema_at(SCHEMA, "/s/p") == {"type": "integer", "default": 1}
    assert schema_at(SCHEMA, "/l/0") == {"type": "integer"}
    assert schema_at(SCHEMA, "/l/x") is None
    assert schema_at(SCHEMA, "/none") is None
    assert "$defs" not in schema_expanded(SCHEMA)
    assert schema_at(schema_expanded(SCHEMA), "/o/p") == {"type": "integer", "default": 1}


def test_defaults_fill_what_is_missing_inside_what_is_there() -> None:
    assert schema_defaults(SCHEMA, {}) == {"s": {"p": 1}}
    assert schema_defaults(SCHEMA, {"o": {}, "s": {"p": 2}}) == {"o": {"p": 1}, "s": {"p": 2}}
    assert schema_defaults(SCHEMA, {"s": "wrong"}) == {"s": "wrong"}
