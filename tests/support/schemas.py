"""Loads the shipped JSON schemas and validates documents with them."""

import json
from functools import cache
from importlib.resources import files
from typing import Any

import jsonschema


@cache
def schema(name: str) -> jsonschema.Draft202012Validator:
    text = files("bmad_autopilot").joinpath(f"schemas/{name}.schema.json").read_text()
    loaded = json.loads(text)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def parse_validated(name: str, text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    schema(name).validate(document)
    return document


def schema_names() -> list[str]:
    folder = files("bmad_autopilot").joinpath("schemas")
    return sorted(path.name.removesuffix(".schema.json") for path in folder.iterdir())
