"""Certificates for receivers that speak TLS."""

from __future__ import annotations

import pytest

from warren.demo.certificates import Certificates, ensure_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return ensure_certificates(tmp_path_factory.mktemp("certificates"), "127.0.0.1")


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Of another authority."""
    return ensure_certificates(tmp_path_factory.mktemp("others"), "127.0.0.1")
