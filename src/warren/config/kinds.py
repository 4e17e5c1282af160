"""The types of values in a configuration, each with an error message that says what to write."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel as _BaseModel
from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, SecretStr
from pydantic_core import PydanticCustomError

from warren import secrecy
from warren.config import globs
from warren.config.patterns import Pattern, PatternError, compiled

_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?"
)
_IPV6: Final = re.compile(r"\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]")
_ZNODE_PATH: Final = re.compile(r"/|(?:/[^/\s]+)+")


def kebab(name: str) -> str:
    """`client_id` in Python is `client-id` in the file; `from_` avoids Python's keyword."""
    return name.rstrip("_").replace("_", "-")


class Section(_BaseModel):
    """One section of the configuration: frozen, its keys spelled with dashes in the file."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=kebab,
        validate_by_name=True,
        validate_by_alias=True,
        coerce_numbers_to_str=True,  # kafka-version = 2.8 means "2.8"
        arbitrary_types_allowed=True,
        hide_input_in_errors=True,  # an input may be a secret
    )


@dataclass(frozen=True, slots=True)
class RefersTo:
    """The value is the name of a section `[<section>.<name>]` in the same file; empty: none."""

    section: str


@dataclass(frozen=True, slots=True)
class ReadsFile:
    """The value is the path of a file that must be there; empty: none."""

    # what to do about a missing one
    remedy: str = "correct the path or put the file there"


def wrong(what: str, remedy: str) -> PydanticCustomError:
    """A validation error with Warren's own message."""
    return PydanticCustomError("warren", "{what}; {remedy}", {"what": what, "remedy": remedy})


def host_port_fault(text: str, example_port: int, *, blank_host: bool = False) -> tuple[str, str] | None:
    """What is wrong with `host:port` and what to write; None when it is valid."""
    if "://" in text:
        bare = text.split("://", 1)[1].rpartition("@")[2].rstrip("/")
        return f"{shown(text)} has a scheme in front", f'write only host and port: "{bare}"'
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not _IPV6.fullmatch(host)):
        return _no_port(text, example_port, blank_host=blank_host)
    least = 0 if blank_host else 1  # port 0 of a listener: any free one
    if not re.fullmatch(r"[0-9]{1,5}", port) or not least <= int(port) <= 65535:
        return (
            f'"{text}" has no valid port',
            f'write a port from 1 to 65535, for example "{host}:{example_port}"',
        )
    if not (host == "" and blank_host) and not _HOST.fullmatch(host) and not _IPV6.fullmatch(host):
        what = f'"{host}" is not a host name' if host else f'"{text}" has no host'
        return what, f'write host:port, for example "kafka01.example.com:{example_port}"'
    return None


def _no_port(text: str, example_port: int, *, blank_host: bool) -> tuple[str, str]:
    if ":" in text:
        bare = text.strip("[]")
        return f'"{text}" is an IPv6 address without brackets or port', f'write "[{bare}]:{example_port}"'
    if blank_host and text.isdigit():
        return f'"{text}" is a port only', f'write ":{text}" for every interface, or "127.0.0.1:{text}"'
    return f'"{text}" has no port', f'write host:port, for example "{text}:{example_port}"'


def split_list(value: object) -> object:
    """Text is a list too: separated by commas or blanks, as in an environment variable."""
    if isinstance(value, str):
        return tuple(part for part in re.split(r"[\s,]+", value) if part)
    return value


def _servers(example_port: int) -> Callable[[object], tuple[str, ...]]:
    def check(value: object) -> tuple[str, ...]:
        servers = split_list(value)
        example = f'["kafka01.example.com:{example_port}"]'
        if not isinstance(servers, list | tuple) or not all(isinstance(server, str) for server in servers):
            raise wrong(
                f"{shown(value)} is not a list of servers",
                f"write a list of host:port, for example {example}",
            )
        if not servers:
            raise wrong("the list of servers is empty", f"name at least one server, for example {example}")
        faults = [fault for server in servers if (fault := host_port_fault(server, example_port))]
        if faults:
            raise wrong(*(" and ".join(parts) for parts in zip(*faults, strict=True)))
        return tuple(servers)

    return check


def _zookeeper_servers(value: object) -> object:
    """As ZooKeeper's clients take them: a path after the last server, or after each, is the root of all paths."""
    check, servers = _servers(2181), split_list(value)
    if not isinstance(servers, list | tuple) or not all(
        isinstance(server, str) and "://" not in server for server in servers
    ):
        return check(servers)
    roots = sorted({f"/{root}" for _, slash, root in (server.partition("/") for server in servers) if slash})
    if len(roots) > 1:
        raise wrong(
            f"the servers have different paths, {' and '.join(roots)}",
            "write the same path after each server, or one after the last server only",
        )
    bare = check([server.partition("/")[0] for server in servers])
    root = _znode_path(roots[0]) if roots else "/"
    return bare if root == "/" else (*bare[:-1], f"{bare[-1]}{root}")


def shown(value: object) -> str:
    """A value as it is written in the file; a table, which may contain secrets, only as "a table"."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{secrecy.without_login(value)}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return "a table" if isinstance(value, dict) else str(value)


def _address(value: object) -> object:
    if isinstance(value, str) and (fault := host_port_fault(value, 8000, blank_host=True)):
        raise wrong(*fault)
    return value


def _pattern(value: object) -> object:
    if value is None or value == "":
        return None
    if isinstance(value, Pattern):
        return value
    if not isinstance(value, str):
        raise wrong(
            f"{shown(value)} is not a regular expression", 'write one in quotes, for example "^team-.*$"'
        )
    try:
        return compiled(value)
    except PatternError as error:
        raise wrong(f'"{value}" is not a regular expression: {error}', error.remedy) from None


def _globs(value: object) -> object:
    found = split_list(value)
    if not isinstance(found, list | tuple) or not all(isinstance(each, str | globs.Glob) for each in found):
        raise wrong(f"{shown(value)} is not a list of patterns", 'write a list, for example ["team-*"]')
    try:
        return tuple(globs.compiled(each) if isinstance(each, str) else each for each in found)
    except PatternError as error:
        raise wrong(f"{shown(value)} has a pattern that cannot be used: {error}", error.remedy) from None


def _no_bool(kind: str) -> BeforeValidator:
    def check(value: object) -> object:
        # Python accepts true as 1
        if isinstance(value, bool):
            raise PydanticCustomError(kind, "a boolean is not a number")
        return value

    return BeforeValidator(check)


def _znode_path(value: object) -> object:
    if isinstance(value, str) and value != "" and not _ZNODE_PATH.fullmatch(value):
        raise wrong(
            f'"{value}" is not a ZooKeeper path',
            'write a path that begins with / and does not end with it, like "/burrow"',
        )
    return value


def _url(value: object) -> object:
    # a template may be anywhere in it, so only its beginning is checked
    if (
        isinstance(value, str)
        and value != ""
        and not re.match(r"https?://[^/\s]", value)
        and "{{" not in value[:8]
    ):
        # its path may be a credential
        raise wrong(
            f'"{secrecy.origin(value)}" is not a URL', "write one that begins with http:// or https://"
        )
    return value


def _no_login(value: object) -> object:
    if isinstance(value, str) and secrecy.without_login(value) != value:
        raise wrong(
            f"{shown(value)} contains a login", "put it into username and password, where it stays secret"
        )
    return value


def _upper(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _lower_keys(value: object) -> object:
    return {str(key).lower(): item for key, item in value.items()} if isinstance(value, dict) else value


Whole = Annotated[int, _no_bool("int_type")]
Natural = Annotated[int, _no_bool("int_type"), Field(ge=0)]
Positive = Annotated[int, _no_bool("int_type"), Field(ge=1)]
Seconds = Annotated[float, _no_bool("float_type"), Field(gt=0)]
Share = Annotated[float, _no_bool("float_type"), Field(ge=0, le=1)]
Port = Annotated[int, _no_bool("int_type"), Field(ge=1, le=65535)]
KafkaServers = Annotated[tuple[str, ...], BeforeValidator(_servers(9092))]
ZooKeeperServers = Annotated[tuple[str, ...], BeforeValidator(_zookeeper_servers)]
Address = Annotated[str, BeforeValidator(_address)]
ZnodePath = Annotated[str, BeforeValidator(_znode_path)]
Url = Annotated[str, BeforeValidator(_url)]
# a sink's URL appears in the log and in the API
BareUrl = Annotated[Url, BeforeValidator(_no_login)]
BareUrls = Annotated[tuple[BareUrl, ...], BeforeValidator(split_list)]
Regex = Annotated[Pattern | None, BeforeValidator(_pattern), PlainSerializer(lambda p: p.source if p else "")]
Globs = Annotated[
    tuple[globs.Glob, ...], BeforeValidator(_globs), PlainSerializer(lambda found: [p.source for p in found])
]
Secret = SecretStr
NoSecret: Final = SecretStr("")
Upper = BeforeValidator(_upper)
Lower = BeforeValidator(_lower)
# keys are case-insensitive, and Burrow's templates get them in lower case
LowerKeys = BeforeValidator(_lower_keys)
TemplateFile = Annotated[
    str, ReadsFile("correct the path, or leave the key out to send Warren's own message")
]
InputFile = Annotated[str, ReadsFile()]
