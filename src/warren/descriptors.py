"""The limit of open file descriptors."""

from __future__ import annotations

import contextlib
import resource
from typing import Final

# some programs iterate over all possible descriptors: not millions of them
_ENOUGH: Final = 65_536


def raise_limit() -> int:
    """Raise the soft limit to the hard one; returns what it is now. Child processes inherit it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # a container may forbid even this
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
