"""The tables of docs/configuration.md, generated from the types so that they stay correct."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from warren.config.kinds import Section, shown
from warren.config.settings import NAMED, PLAIN
from warren.config.tree import fields

# where the tables begin and end in the page
BEGIN: Final = "<!-- tables: python -m warren.config.reference docs/configuration.md -->"
END: Final = "<!-- end of tables -->"


def reference() -> str:
    """One table per section, in Markdown; where there are classes, one of common keys and one per class."""
    return "\n".join(_lines())


def page_with_tables(page: str) -> str:
    """The page with its tables generated again."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{reference()}\n{END}{after}"


def _lines() -> Iterator[str]:
    for section, model in PLAIN.items():
        yield from _table(f"[{section}]", model, fields(model))
    for section, models in NAMED.items():
        if len(models) == 1:
            (model,) = models.values()
            yield from _table(f"[{section}.N]", model, fields(model))
            continue
        base = _base(list(models.values()))
        common = fields(base)
        yield from _table(f"[{section}.N], every class", base, common)
        for name, model in models.items():
            # a class may have a common key with other choices
            own = {
                key: info
                for key, info in fields(model).items()
                if key != "class-name" and not _same(info, common.get(key))
            }
            yield from _table(f'[{section}.N] with class-name "{name}"', model, own)


def _base(models: list[type[Section]]) -> type[Section]:
    """The nearest type that all classes of a section derive from."""
    return next(
        base
        for base in models[0].__mro__
        if issubclass(base, Section) and all(issubclass(each, base) for each in models)
    )


def _same(one: FieldInfo, other: FieldInfo | None) -> bool:
    return other is not None and (one.description, one.annotation) == (other.description, other.annotation)


def _table(title: str, model: type, keys: dict[str, FieldInfo]) -> Iterator[str]:
    about = (model.__doc__ or "").split("\n")[0].partition(": ")[2]
    yield ""
    yield f"### {title}"
    yield ""
    if about:
        yield about[0].upper() + about[1:]
        yield ""
    if not keys:
        yield "No further keys."
        return
    yield "| key | default | meaning |"
    yield "|---|---|---|"
    for key, info in keys.items():
        yield f"| `{key}` | {_default(info)} | {_meaning(info)} |"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value: Any = info.get_default(call_default_factory=True, validated_data={})
    if (
        value is None
        or value is PydanticUndefined
        or value == {}
        or isinstance(value, SecretStr)
        or value == ""
    ):
        return ""
    return f"`{shown(value)}`"


def _meaning(info: FieldInfo) -> str:
    choice = [value for value in _choices(info.annotation) if value]
    choices = f" ({', '.join(f'`{value}`' for value in choice)})" if len(choice) > 1 else ""
    secret = "; secret" if _is_secret(info.annotation) else ""
    return f"{info.description}{choices}{secret}".replace("|", "\\|")


def _choices(annotation: object) -> tuple[str, ...]:
    return tuple(value for value in get_args(annotation) if isinstance(value, str))


def _is_secret(annotation: object) -> bool:
    return annotation is SecretStr or any(_is_secret(part) for part in get_args(annotation))


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(page_with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")
