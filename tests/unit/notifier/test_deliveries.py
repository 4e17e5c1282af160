"""The way out of messages: order, repeats, retries and faults of one module beside another."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.processes import eventually
from tests.unit.notifier.scenes import NOW, group

from warren.common.status import Status
from warren.notifier import deliveries as module_under_test
from warren.notifier.deliveries import MOST_WAITING, Deliveries, QueuedMessage
from warren.notifier.incidents import DeliveryResult
from warren.notifier.leadership import Lease, SingleInstance
from warren.notifier.message import Kind, Message
from warren.notifier.senders.delivery import DeliveryError

ERR, OK = Status.ERR, Status.OK


def message(
    number: int, kind: Kind = "open", *, of: str = "g", incident: str = "i", module: str = "hook"
) -> Message:
    status = ERR if kind == "open" else OK
    return Message(f"m{number}", module, kind, incident, NOW, NOW + number, group(of, status))


class Receiver:
    """Implements `Sender`: takes, refuses or holds up messages, as the test says."""

    def __init__(self) -> None:
        self.accepted: list[str] = []
        self.tried: list[str] = []
        self.refusal: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()
        self.closed = False

    def send(self, message: Message, timeout_s: float) -> str:
        self.tried.append(message.id)
        self.gate.wait(10)
        if self.refusal is not None:
            raise self.refusal
        self.accepted.append(message.id)
        return "HTTP 200"

    def close(self) -> None:
        self.closed = True


class Led(SingleInstance):
    """Leads while it is told to."""

    term: int | None = 1

    def lease(self) -> Lease | None:
        return None if self.term is None else Lease(self.term, float("inf"))


class Office:
    """Deliveries of two modules with all that was reported; implements `Accounts`."""

    def __init__(self) -> None:
        self.receivers = {"hook": Receiver(), "mail": Receiver()}
        self.leader = Led("me")
        self.delivery: list[DeliveryResult] = []
        self.deliveries = Deliveries(self.receivers, {"hook": 5, "mail": 5}, self.leader, self)
        self.deliveries.begin(1, ())
        self.deliveries.start()

    @property
    def hook(self) -> Receiver:
        return self.receivers["hook"]

    def is_owed(self, message: Message) -> bool:
        return all(each.message.id != message.id or each.state == "owed" for each in self.delivery)

    def report(self, delivery: DeliveryResult) -> None:
        self.delivery.append(delivery)

    def add(self, *messages: Message) -> None:
        self.deliveries.add(messages)

    def states(self) -> list[str]:
        return [f"{each.message.id} {each.state} {each.attempts}" for each in self.delivery]

    def settled(self, count: int) -> bool:
        return eventually(lambda: len(self.delivery) >= count, 10)


@pytest.fixture
def office() -> Iterator[Office]:
    made = Office()
    yield made
    for each in made.receivers.values():
        each.gate.set()
    made.deliveries.stop()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three attempts, at once."""
    monkeypatch.setattr(
        module_under_test, "next_attempt_ms", lambda attempt, at, *_: at if attempt < 3 else None
    )


def refused(*, retriable: bool) -> DeliveryError:
    return DeliveryError("HTTP 503", retriable=retriable)


def test_messages_go_out_in_their_order(office: Office) -> None:
    office.add(message(1), message(2, "close"), message(3, incident="j"))
    assert office.settled(3)
    assert office.hook.accepted == ["m1", "m2", "m3"]
    assert office.states() == ["m1 sent 1", "m2 sent 1", "m3 sent 1"]
    assert office.deliveries.counts()["hook"].sent == 3


@pytest.mark.usefixtures("quick")
def test_a_message_is_tried_again_and_then_given_up(office: Office) -> None:
    office.hook.refusal = refused(retriable=True)
    office.add(message(1))
    assert office.settled(3)
    assert office.states() == ["m1 owed 1", "m1 owed 2", "m1 failed 3"]
    assert office.delivery[-1].answer == "HTTP 503"
    counts = office.deliveries.counts()["hook"]
    assert (counts.sent, counts.failed, counts.retried) == (0, 1, 2)


def test_what_no_retry_can_help_is_given_up_at_once(office: Office) -> None:
    office.hook.refusal = refused(retriable=False)
    office.add(message(1))
    assert office.settled(1)
    assert office.states() == ["m1 failed 1"]


def test_a_fault_of_a_sender_costs_one_message(office: Office) -> None:
    office.hook.refusal = ValueError("a fault")
    office.add(message(1))
    assert office.settled(1)
    office.hook.refusal = None
    office.add(message(2, incident="j"))
    assert office.settled(2)
    assert office.states() == ["m1 failed 1", "m2 sent 1"]


@pytest.mark.usefixtures("quick")
def test_the_close_goes_out_behind_an_open_that_was_given_up(office: Office) -> None:
    office.hook.refusal = refused(retriable=True)
    office.hook.gate.clear()
    office.add(message(1), message(2, "close"))
    office.hook.gate.set()
    assert office.settled(6)
    assert office.hook.tried == ["m1"] * 3 + ["m2"] * 3


def test_a_group_whose_message_waits_holds_up_no_other(office: Office) -> None:
    office.hook.refusal = DeliveryError("busy", retriable=True, wait_s=600)
    office.add(message(1))
    assert office.settled(1)
    office.hook.refusal = None
    office.add(message(2, "close"), message(3, of="other"))
    assert office.settled(2)
    assert office.hook.accepted == ["m3"]


def test_a_module_that_hangs_holds_up_no_other(office: Office) -> None:
    office.hook.gate.clear()
    office.add(message(1), message(2, module="mail"))
    assert office.settled(1)
    assert office.receivers["mail"].accepted == ["m2"]


def test_a_newer_repeat_takes_the_place_of_one_that_waits(office: Office) -> None:
    office.hook.refusal = DeliveryError("busy", retriable=True, wait_s=600)
    office.add(message(1))
    assert office.settled(1)
    office.add(message(2), message(3), message(4, "close"))
    assert office.settled(3)
    assert office.states() == ["m1 owed 1", "m1 abandoned 1", "m2 abandoned 1"]


@pytest.mark.usefixtures("quick")
def test_retries_stay_bounded_when_repeats_take_each_others_place(office: Office) -> None:
    """A repeat that began to count anew each time would never be given up."""
    office.hook.refusal = refused(retriable=True)
    office.add(message(1))
    assert office.settled(3)
    office.hook.gate.clear()
    office.add(message(2))
    assert eventually(lambda: len(office.hook.tried) == 4, 10)
    # the one under way is not replaced, the next waits behind it and is
    office.add(message(3), message(4))
    assert office.states()[3:] == ["m3 abandoned 0"]
    office.hook.gate.set()
    assert office.settled(10)
    assert office.states()[4:] == [
        f"{name} {how}" for name in ("m2", "m4") for how in ("owed 1", "owed 2", "failed 3")
    ]


def test_few_messages_wait_about_one_group(office: Office) -> None:
    office.hook.gate.clear()
    office.add(message(0))
    assert eventually(lambda: office.hook.tried == ["m0"], 10)
    for number in range(1, MOST_WAITING + 3):
        office.add(message(number, incident=f"i{number}"))
    assert office.states() == ["m1 abandoned 0", "m2 abandoned 0", "m3 abandoned 0"]
    office.hook.gate.set()
    assert office.settled(3 + MOST_WAITING)
    assert office.hook.accepted == ["m0", *(f"m{number}" for number in range(4, MOST_WAITING + 3))]


class TestTerms:
    @pytest.mark.parametrize(
        "lease", [None, Lease(2, float("inf")), Lease(1, 0.0)], ids=["no", "new", "ended"]
    )
    def test_nothing_is_sent_without_a_lease_of_this_term(self, office: Office, lease: Lease | None) -> None:
        asked = threading.Event()

        def request() -> Lease | None:
            asked.set()
            return lease

        office.leader.lease = request  # type: ignore[method-assign]
        office.add(message(1))
        assert asked.wait(10)
        assert office.deliveries.stop()
        assert office.hook.tried == []

    def test_messages_of_an_old_term_are_forgotten(self, office: Office) -> None:
        office.leader.term = 2
        office.add(message(1))
        office.deliveries.begin(2, [QueuedMessage(message(7))])
        assert office.settled(1)
        assert office.states() == ["m7 sent 1"]

    def test_a_message_under_way_is_not_sent_twice_when_a_new_term_owes_it(self, office: Office) -> None:
        office.hook.gate.clear()
        office.add(message(1))
        assert eventually(lambda: office.hook.tried == ["m1"], 10)
        office.leader.term = 2
        office.deliveries.begin(2, [QueuedMessage(message(1)), QueuedMessage(message(2, "close"))])
        office.hook.gate.set()
        assert office.settled(2)
        assert office.states() == ["m1 sent 1", "m2 sent 1"]
        assert office.hook.tried == ["m1", "m2"]

    def test_what_went_out_while_a_new_term_began_is_not_sent_again(self, office: Office) -> None:
        office.add(message(1))
        assert office.settled(1)
        office.deliveries.begin(1, [QueuedMessage(message(1)), QueuedMessage(message(2, "close"))])
        assert office.settled(2)
        assert office.hook.tried == ["m1", "m2"]

    def test_attempts_go_on_counting(self, office: Office) -> None:
        office.deliveries.begin(1, [QueuedMessage(message(1), attempts=3)])
        assert office.settled(1)
        assert office.states() == ["m1 sent 4"]


def test_stopping_leaves_what_is_owed_and_closes_senders(office: Office) -> None:
    office.hook.refusal = DeliveryError("busy", retriable=True, wait_s=600)
    office.add(message(1))
    assert office.settled(1)
    office.deliveries.stop()
    assert office.states() == ["m1 owed 1"]
    assert office.hook.closed
