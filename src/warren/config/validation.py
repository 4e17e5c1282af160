"""Validates each module against its type, with error messages of Warren's own in module_id of pydantic's."""

from collections.abc import Mapping
from typing import Any

from annotated_types import Ge, Gt, Le
from pydantic import SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from warren.config.kinds import Section, shown
from warren.config.settings import NAMED
from warren.config.tree import ModuleId, Tree, all_fields, fields, likely_model, model_of
from warren.spelling import did_you_mean, nearest

# type of pydantic's error: what is wrong, what to write
_NOT_WHOLE = ("{value} is not a whole number", "write a whole number{example}")
_NOT_NUMBER = ("{value} is not a number", "write a number{example}")
_NOT_BOOL = ("{value} is neither true nor false", "write true or false")
_MESSAGES: Mapping[str, tuple[str, str]] = {
    "int_type": _NOT_WHOLE,
    "int_parsing": _NOT_WHOLE,
    "int_from_float": _NOT_WHOLE,
    "int_parsing_size": _NOT_WHOLE,
    "float_type": _NOT_NUMBER,
    "float_parsing": _NOT_NUMBER,
    "finite_number": _NOT_NUMBER,
    "bool_type": _NOT_BOOL,
    "bool_parsing": _NOT_BOOL,
    "string_type": ("{value} is not text", "write text in quotes{example}"),
    "tuple_type": ("{value} is not a list", "write a list{example}"),
    "dict_type": ("{value} is not a table", 'write a table, for example {{ key = "value" }}'),
    "string_too_short": ("the value is empty", "write one{example}"),
    "too_short": ("the list is empty", "name at least one{example}"),
}
# type of pydantic's error: the value is too …
_OUT_OF_RANGE: Mapping[str, str] = {
    "greater_than_equal": "small",
    "greater_than": "small",
    "less_than_equal": "large",
}


def validated(tree: Tree) -> dict[ModuleId, Section]:
    """The valid modules; the others are reported, with all of their errors at once."""
    modules: dict[ModuleId, Section] = {}
    for module_id, keys in tree.modules.items():
        model = model_of(module_id[0], keys)
        if model is None:
            _unknown_class(tree, module_id, keys)
            # the rest of the module is validated as the class that was probably meant
            model = likely_model(module_id[0], keys)
            if model is not None:
                right = {key: value for key, value in keys.items() if key != "class-name"}
                _validated(tree, module_id, model, _known(tree, module_id, model, right))
            continue
        module = _validated(tree, module_id, model, _known(tree, module_id, model, keys))
        if module is not None:
            modules[module_id] = module
    return modules


def _unknown_class(tree: Tree, module_id: ModuleId, keys: Mapping[str, Any]) -> None:
    known = tuple(NAMED[module_id[0]])
    choice = ", ".join(f'"{name}"' for name in known)
    if "class-name" not in keys:
        tree.add(
            "error", (*module_id, "class-name"), "the key is missing", f"add class-name, one of {choice}"
        )
        return
    value = keys["class-name"]
    meant = nearest(str(value), known)
    remedy = f'did you mean "{meant}"?' if meant else f"write one of {choice}"
    tree.add("error", (*module_id, "class-name"), f"there is no class {shown(value)}", remedy)


def _known(tree: Tree, module_id: ModuleId, model: type[Section], keys: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that the module has; the others are reported and have no effect."""
    here, elsewhere = fields(model), all_fields(module_id[0])
    known = {key: value for key, value in keys.items() if key in here}
    for key, value in keys.items():
        path = (*module_id, key)
        if key in here:
            continue
        if isinstance(value, dict) and len(module_id) == 2:
            quoted = f'[{module_id[0]}."{module_id[1]}.{key}"]'
            tree.add(
                "error", path, "this is a section in a section", f"put a name with a dot in quotes: {quoted}"
            )
        elif key in elsewhere:
            classes = [f'"{name}"' for name, one in NAMED[module_id[0]].items() if key in fields(one)]
            what = f"this key belongs to class-name {' or '.join(classes)} and has no effect here"
            tree.add("warning", path, what, "remove it, or change class-name")
        else:
            remedy = did_you_mean(key, here, f"known keys are {', '.join(here)}")
            tree.add("warning", path, "this key is not known and has no effect", remedy)
    return known


def _validated(tree: Tree, module_id: ModuleId, model: type[Section], keys: dict[str, Any]) -> Section | None:
    try:
        return model.model_validate(keys)
    except ValidationError as error:
        faults = error.errors(include_url=False)
    wrong_keys = {str(fault["loc"][0]) for fault in faults if fault["loc"]}
    for fault in faults:
        _report(tree, module_id, model, fault)
    if not wrong_keys:
        return None
    # rules over several keys run only when each key is valid: validate again with examples for the invalid ones
    examples = {
        key: info.examples[0] for key, info in fields(model).items() if key in wrong_keys and info.examples
    }
    try:
        model.model_validate({key: value for key, value in keys.items() if key not in wrong_keys} | examples)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            context = fault.get("ctx", {})
            words = set(f"{context.get('what')} {context.get('remedy')}".replace(",", " ").split())
            if not fault["loc"] and not words & wrong_keys:
                _report(tree, module_id, model, fault)
    return None


def _report(tree: Tree, module_id: ModuleId, model: type[Section], fault: ErrorDetails) -> None:
    if not fault["loc"]:
        tree.add("error", module_id, fault["ctx"]["what"], fault["ctx"]["remedy"])
        return
    key = str(fault["loc"][0])
    info = fields(model)[key]
    path = (
        *module_id,
        key,
        *(str(part) for part in fault["loc"][1:] if isinstance(part, str) and part != "[key]"),
    )
    value = "the value" if _is_secret(info.annotation) else shown(fault["input"])
    example = _example(info)
    what, remedy = _message(fault, value, f", for example {example}" if example else "")
    if fault["type"] in _OUT_OF_RANGE:
        remedy = _range(info) + (f", for example {example}" if example else "")
    if fault["type"] == "missing":
        remedy = f"add {key}" + (f" = {example}" if example else "")
    tree.add("error", path, what, remedy)


def _message(fault: ErrorDetails, value: str, example: str) -> tuple[str, str]:
    kind, context = fault["type"], fault.get("ctx", {})
    if kind == "warren":
        return context["what"], context["remedy"]
    if kind == "missing":
        return "the key is missing", ""
    if kind == "literal_error":
        known = context["expected"].replace(" or ", ", ").replace("'", '"')
        return f"{value} is not known", f"write one of {known}" if "," in known else f"write {known}"
    if kind in _OUT_OF_RANGE:
        return f"{value} is too {_OUT_OF_RANGE[kind]}", ""
    what, remedy = _MESSAGES.get(
        kind, ("{value} cannot be used", fault["msg"].replace("{", "{{").replace("}", "}}"))
    )
    return what.format(value=value), remedy.format(example=example)


def _range(info: FieldInfo) -> str:
    """The valid numbers of a key."""
    least = next((mark.ge for mark in info.metadata if isinstance(mark, Ge)), None)
    above = next((mark.gt for mark in info.metadata if isinstance(mark, Gt)), None)
    most = next((mark.le for mark in info.metadata if isinstance(mark, Le)), None)
    if least is not None and most is not None:
        return f"write a number from {least} to {most}"
    return f"write at least {least}" if least is not None else f"write more than {above}"


def _example(info: FieldInfo) -> str:
    """A valid value: the default, or the field's own example."""
    if info.examples:
        return shown(info.examples[0])
    default = info.get_default(call_default_factory=False)
    return "" if default in (None, "") or not isinstance(default, int | float | str) else shown(default)


def _is_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_is_secret(part) for part in getattr(annotation, "__args__", ()))
