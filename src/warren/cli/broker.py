"""`warren broker`: a real Kafka on this machine until Ctrl-C."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from warren.demo.broker import Broker, BrokerError
from warren.demo.credentials import Credentials


def broker(
    *,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any free one.")
    ] = 9092,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep the data here; without it, it goes when the broker stops."),
    ] = None,
    partitions_of_offsets_topic: Annotated[
        int, typer.Option(min=1, metavar="N", help="Partitions of __consumer_offsets, when it is made.")
    ] = 50,
    sasl: Annotated[
        str | None,
        typer.Option(
            metavar="MECH:USER:PASSWORD",
            help="Require a login: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.",
        ),
    ] = None,
    tls: Annotated[bool, typer.Option("--tls", help="Use TLS, with generated certificates.")] = False,
    client_certificates: Annotated[
        bool, typer.Option("--client-certificates", help="Use TLS and require client certificates.")
    ] = False,
    heap: Annotated[int, typer.Option(min=128, metavar="MB", help="Memory for Kafka's Java heap.")] = 512,
) -> None:
    """Run a real Kafka broker on this machine until Ctrl-C.

    A single Kafka 4.1 node in KRaft mode, from the published jars, which are fetched once.

    [bold]Examples[/bold]

    [cyan]warren broker[/cyan]                          gone with Ctrl-C

    [cyan]warren broker --port 0 --data ./kafka[/cyan]  any port, data that stays

    [cyan]warren broker --sasl PLAIN:alice:secret --tls[/cyan]
    """
    # SIGTERM is handled like Ctrl-C
    signal.signal(signal.SIGTERM, _interrupt)
    credentials = Credentials.parse(sasl) if sasl else None
    try:
        with Broker(
            port,
            data,
            partitions_of_offsets_topic,
            sasl=credentials,
            tls=tls,
            client_certificates=client_certificates,
            heap_mb=heap,
        ) as running:
            for line in _welcome(running, temporary=data is None):
                typer.echo(line)
            running.wait()
            raise BrokerError(f"Kafka ended unexpectedly; see {running.log}.")
    except KeyboardInterrupt:
        typer.echo("\nStopped.")


def _welcome(running: Broker, *, temporary: bool) -> Iterable[str]:
    """The settings for clients of the broker; without the password."""
    yield "Kafka is running. Settings for a client:"
    yield ""
    for key, value in running.client_settings.items():
        yield f"  {key}={'…' if key == 'sasl.password' else value}"
    yield ""
    kept = "which is deleted when it stops" if temporary else "which is kept"
    yield f"Its data and log are in {running.data}, {kept}."
    yield "Ctrl-C stops it."


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
