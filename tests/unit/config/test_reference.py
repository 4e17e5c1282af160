"""docs/configuration.md says what the types say."""

from pathlib import Path

from warren.config.reference import page_with_tables
from warren.config.settings import NAMED, PLAIN
from warren.config.tree import fields

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_has_the_tables_of_the_types() -> None:
    page = PAGE.read_text()
    assert page == page_with_tables(page), "run python -m warren.config.reference docs/configuration.md"


def test_every_key_has_a_meaning_in_words() -> None:
    models = [*PLAIN.values(), *(model for models in NAMED.values() for model in models.values())]
    silent = [
        f"{model.__name__}.{key}"
        for model in models
        for key, info in fields(model).items()
        if not info.description
    ]
    assert silent == []


def test_every_key_is_on_the_page() -> None:
    page = PAGE.read_text()
    models = [*PLAIN.values(), *(model for models in NAMED.values() for model in models.values())]
    missing = [
        key for model in models for key in fields(model) if f"| `{key}` |" not in page and key != "class-name"
    ]
    assert missing == []
