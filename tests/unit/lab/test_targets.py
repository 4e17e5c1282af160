"""A small run of the laboratory: what docs/verdicts.md promises is kept."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from warren.common.status import Status
from warren.lab import consumers, report
from warren.lab.forward import Judge, Looks, run
from warren.lab.plan import QUICK, Findings, LabError, carry_out, chosen
from warren.lab.scenarios import SCENARIOS, Kind, Scenario

# commits so long after the burst made groups that had read everything seem behind
PHASES_S = tuple(np.arange(0.25, 1.0, 0.05).tolist())


@pytest.fixture(scope="module")
def findings() -> Findings:
    return carry_out(QUICK, SCENARIOS, seed=3)


def test_every_target_is_kept(findings: Findings) -> None:
    assert [target.promise for target in findings.targets if not target.kept] == []
    # all five, since everything was tried
    assert len(findings.targets) == 5
    assert findings.group_days > 2


def test_every_kind_of_consumer_and_trouble_is_tried(findings: Findings) -> None:
    assert {each.kind for each in findings.classes} == set(Kind)
    troubles = {each.name for each in findings.classes if each.seen_after_s}
    assert {"dead", "stuck on one offset", "rewound once", "slow, 90 %"} <= troubles


def test_broken_groups_are_called_by_their_names(findings: Findings) -> None:
    for score in findings.classes:
        if score.kind is Kind.BROKEN and score.judge is Judge.TREND:
            assert (score.name, score.unseen) == (score.name, 0)
            assert score.right_share > 0.999


def test_burrow_s_rules_flip_where_ours_stay(findings: Findings) -> None:
    ours, burrow = (findings.of("5 min behind", judge) for judge in (Judge.TREND, Judge.BURROW))
    assert ours.flips_an_hour < 1 < burrow.flips_an_hour


def test_the_same_seed_finds_the_same() -> None:
    scenarios = chosen(["rewound once"])
    first, again, other = (carry_out(QUICK, scenarios, seed=seed).to_dict() for seed in (5, 5, 6))
    assert first == again
    assert first["classes"] != other["classes"]


@pytest.mark.parametrize(("width", "columns"), [(80, "trend Burrow"), (100, "trend caching Burrow")])
def test_the_tables_fit_a_terminal(findings: Findings, width: int, columns: str) -> None:
    console = Console(width=width, record=True, file=io.StringIO())
    for each in report.tables(findings, width):
        console.print(each)
    text = console.export_text()
    assert columns in text
    # the last column is whole
    assert next(line for line in text.splitlines() if line.startswith("slow, 99 %")).endswith("never")
    assert max(len(line) for line in text.splitlines()) <= width


def test_the_figures_are_json_a_picture_and_a_page(findings: Findings) -> None:
    assert json.loads(json.dumps(findings.to_dict()))["groups"] == findings.groups
    assert report.picture(findings).startswith("<svg")
    assert report.markdown(findings).count("\n") == len(findings.names) + 1


def test_a_class_that_there_is_not_is_an_error_that_names_those_that_there_are() -> None:
    with pytest.raises(LabError, match='no class matches nonesuch; there are "healthy, auto-commit"'):
        chosen(["nonesuch"])


def commits_after_bursts(phase_s: float) -> Scenario:
    """Twenty messages at each whole second; commits of all of them so long after."""

    def committed(_rng: np.random.Generator, setting: consumers.Setting) -> consumers.Committed:
        at_s = np.arange(phase_s, setting.length_s, 1.0)
        return consumers.Committed(at_s, setting.log.head(at_s), (consumers.Label(0, consumers.OK),))

    return Scenario(f"{phase_s:.2f} s after", Kind.HEALTHY, "bursts on the second", committed, 1.0)


@pytest.mark.parametrize("every_s", [1.0, 2.0, 10.0])
def test_a_group_that_reads_bursts_at_once_was_called_warn(every_s: float) -> None:
    scenarios = [commits_after_bursts(phase_s) for phase_s in PHASES_S]
    looks = Looks("", every_s=every_s, min_distance_s=0.0)
    done = run(looks, scenarios, seeds=2, seed=11, length_s=660.0, threshold=1000)

    for judge in (Judge.TREND, Judge.CACHING):
        # ten minutes, from full windows on
        ten_minutes = done.statuses[judge][done.asked_s > 60]
        assert len(ten_minutes) >= 500 / every_s
        assert np.count_nonzero(ten_minutes != Status.OK) == 0


def test_a_first_start_gives_one_verdict_and_not_three() -> None:
    scenarios = [each for each in chosen(["slow, 90 %", "slow, 50 %"]) if each.kind is Kind.SLOW]
    # in the middle of trouble
    looks = Looks("", every_s=1.0, start_s=1200.0)
    done = run(looks, scenarios, seeds=3, seed=2, length_s=1500.0, threshold=1000)
    statuses = done.statuses[Judge.TREND]

    changes = np.count_nonzero(np.diff(statuses.astype(int), axis=0), axis=0)
    assert set(statuses[0].tolist()) == {Status.OK}
    assert set(statuses[-1].tolist()) == {Status.WARN}
    assert set(changes.tolist()) == {1}


def test_disturbances_disturb() -> None:
    """Pauses are seen in the commits: what disturbs nothing would prove nothing."""
    for each in SCENARIOS:
        if each.disturbance:
            done = run(Looks("", every_s=60), [replace(each)], seeds=1, seed=1, length_s=900.0, threshold=1)
            assert np.diff(done.played.at_s).max() > 1.5 * each.period_s
