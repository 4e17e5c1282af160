"""`/v4/session`: what the client of a request may do, so that a page offers nothing that would be refused."""

from __future__ import annotations

from collections.abc import Mapping

import warren
from warren.httpserver.reply import Reply, as_json, refused
from warren.httpserver.router import Handler, Request
from warren.httpserver.v4 import shapes
from warren.httpserver.v4.operations import SESSION
from warren.httpserver.v4.parameters import ParameterError, values


def routes() -> Mapping[tuple[str, str], Handler]:
    return {("GET", SESSION.route): _session}


def _session(request: Request) -> Reply:
    try:
        values(request.query, SESSION.parameters)
    except ParameterError as error:
        return refused(400, str(error))
    return as_json(shapes.Session(request.admin, warren.__version__))
