"""Values of the configuration that have a form of their own."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from warren.config.modules import HttpNotifier
from warren.config.sections import KafkaZkConsumer


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        (["a:2181", "b:2181"], ("a:2181", "b:2181")),
        (["a:2181", "b:2181/kafka/one"], ("a:2181", "b:2181/kafka/one")),
        (["a:2181/kafka", "b:2181/kafka"], ("a:2181", "b:2181/kafka")),
        ("a:2181,b:2181/kafka", ("a:2181", "b:2181/kafka")),
        (["a:2181/"], ("a:2181",)),
    ],
)
def test_a_path_after_zookeepers_servers_is_the_root_of_all(given: object, servers: tuple[str, ...]) -> None:
    module = KafkaZkConsumer.model_validate({"cluster": "local", "servers": given})
    assert module.servers == servers


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["a:2181/one", "b:2181/two"], "different paths, /one and /two"),
        (["a/kafka"], '"a" has no port'),
        (["a:2181/kafka/"], "is not a ZooKeeper path"),
        (["zk://a:2181"], "has a scheme in front"),
        ([7], "is not a list of servers"),
        ([], "the list of servers is empty"),
    ],
)
def test_servers_of_zookeeper_that_cannot_be(given: object, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        KafkaZkConsumer.model_validate({"cluster": "local", "servers": given})


@pytest.mark.parametrize("scheme", ["", "htp://"])
def test_the_complaint_about_a_url_quoted_its_path(scheme: str) -> None:
    with pytest.raises(ValidationError) as raised:
        HttpNotifier.model_validate({"url-open": f"{scheme}api.telegram.org/bot123:AAHsecret/sendMessage"})
    complaint = raised.value.errors()[0]["msg"]
    assert "is not a URL" in complaint
    assert "secret" not in complaint
