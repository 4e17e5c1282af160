"""Whatever a file holds, the answer is settings or problems, never a fault of our own."""

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from warren.config.files import Document
from warren.config.loader import examined
from warren.config.settings import NAMED, PLAIN
from warren.config.tree import all_fields

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["kafka", "http", "email", "slack", "null", "influxdb", "a:9092", ":0", "x", "^(", "1", "true"]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)


def keys(section: str) -> st.SearchStrategy[Any]:
    known = st.sampled_from(sorted(all_fields(section)))
    return st.dictionaries(known | st.text(max_size=6), VALUES, max_size=8) | VALUES


def sections() -> st.SearchStrategy[dict[str, Any]]:
    plain = {section: keys(section) for section in PLAIN}
    named = {
        section: st.dictionaries(st.sampled_from(["x", "X", "a.b", "local"]), keys(section), max_size=2)
        | VALUES
        for section in NAMED
    }
    return st.fixed_dictionaries({}, optional={**plain, **named})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sections() | st.dictionaries(st.text(max_size=6), VALUES, max_size=3),
    st.dictionaries(
        st.sampled_from(
            ["BURROW_STORAGE_X_INTERVALS", "BURROW_SPARK_CONF", "BURROW_CLUSTER_LOCAL_SERVERS", "BURROW_"]
        ),
        st.text(max_size=5) | st.sampled_from(["[1", "{}", "[]", "5"]),
    ),
)
def test_any_tree_is_settings_or_problems(tree: dict[str, Any], environ: dict[str, str]) -> None:
    found = examined(Document(Path("burrow.toml"), tree, {}), environ)
    assert (found.settings is None) == bool(found.errors)
    for problem in found.problems:
        assert problem.key
        assert problem.what
        assert problem.remedy
