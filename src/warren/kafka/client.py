"""Client profiles as librdkafka properties: the only module that unwraps their secrets."""

from collections.abc import Sequence

from warren.config import Settings
from warren.config.sections import ClientProfile, Sasl, Tls
from warren.errors import WarrenError
from warren.kafka.login import IAM_PREFIX, Property


class UnknownProfileError(WarrenError):
    """A client profile that is not in the configuration."""


def client_properties(settings: Settings, profile_name: str, servers: Sequence[str]) -> dict[str, Property]:
    """Everything a client needs, as plain data that can be sent to a worker; pass it to `with_login` there."""
    profile = _profile(settings, profile_name)
    # times in the range that librdkafka accepts
    properties: dict[str, Property] = {
        "bootstrap.servers": ",".join(servers),
        "client.id": profile.client_id,
        "socket.connection.setup.timeout.ms": max(1000, round(profile.dial_timeout * 1000)),
    }
    if profile.read_timeout is not None:
        properties["socket.timeout.ms"] = min(300_000, max(10, round(profile.read_timeout * 1000)))
    if profile.tls:
        properties |= _tls(settings, settings.tls[profile.tls])
    if profile.sasl:
        properties |= _sasl(settings, settings.sasl[profile.sasl])
    if profile.iam:
        iam = settings.iam[profile.iam]
        properties |= {"sasl.mechanisms": "OAUTHBEARER"}
        properties |= {
            f"{IAM_PREFIX}{kebab}": value for kebab, value in iam.model_dump(by_alias=True).items()
        }
    properties["security.protocol"] = _protocol(
        encrypted=bool(profile.tls or profile.iam),  # MSK takes IAM logins over TLS only
        login=bool(profile.sasl or profile.iam),
    )
    return properties | {name: value.get_secret_value() for name, value in profile.properties.items()}


def _profile(settings: Settings, name: str) -> ClientProfile:
    if not name:
        return ClientProfile()
    if name not in settings.client_profile:
        known = ", ".join(settings.client_profile) or "none"
        raise UnknownProfileError(f'There is no client profile "{name}"; the configuration has: {known}')
    return settings.client_profile[name]


def _protocol(*, encrypted: bool, login: bool) -> str:
    if login:
        return "sasl_ssl" if encrypted else "sasl_plaintext"
    return "ssl" if encrypted else "plaintext"


def _tls(settings: Settings, tls: Tls) -> dict[str, Property]:
    files = {
        "ssl.ca.location": tls.cafile,
        "ssl.certificate.location": tls.certfile,
        "ssl.key.location": tls.keyfile,
    }
    properties: dict[str, Property] = {key: str(settings.path(name)) for key, name in files.items() if name}
    if tls.noverify:
        properties |= {
            "enable.ssl.certificate.verification": False,
            "ssl.endpoint.identification.algorithm": "none",
        }
    return properties


def _sasl(settings: Settings, sasl: Sasl) -> dict[str, Property]:
    password = sasl.password.get_secret_value()
    login: dict[str, Property]
    if sasl.mechanism == "OAUTHBEARER":
        login = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": sasl.username,
            "sasl.oauthbearer.client.secret": password,
            "sasl.oauthbearer.token.endpoint.url": sasl.token_url,
            "sasl.oauthbearer.scope": sasl.scope,
        }
    elif sasl.mechanism == "GSSAPI":
        login = {
            "sasl.kerberos.service.name": sasl.service_name,
            "sasl.kerberos.principal": sasl.username,
            "sasl.kerberos.keytab": str(settings.path(sasl.keytab)) if sasl.keytab else "",
        }
    else:
        login = {"sasl.username": sasl.username, "sasl.password": password}
    return {"sasl.mechanisms": sasl.mechanism} | {key: value for key, value in login.items() if value != ""}
