"""Floating-point numbers in Go's format."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


# one number per possible count of complete partitions
@lru_cache(maxsize=4096)
def shortest(value: float, bits: int) -> tuple[str, int]:
    """The shortest digits of a number (not negative) with these bits, and n of 0.digits times 10^n."""
    if bits == 32:
        text = np.format_float_scientific(np.float32(value), trim="-")
    else:
        text = np.format_float_scientific(np.float64(value), trim="-")
    mantissa, exponent = text.lstrip("-").split("e")
    digits = mantissa.replace(".", "").rstrip("0")
    return digits or "0", int(exponent) + 1 if digits else 1


def formatted(value: float, bits: int, verb: str, precision: int) -> str:
    """As strconv formats a finite number; precision -1: as many digits as it needs. Verbs are e, E, f, g and G."""
    if bits == 32:
        value = float(np.float32(value))
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    size = abs(value)
    match verb:
        case "e" | "E":
            text = f"{size:.{precision}e}"
        case "f":
            text = f"{size:.{precision}f}" if precision >= 0 else _positional(*shortest(size, bits))
        case _:
            text = _general(size, bits, precision)
    return sign + (text.upper() if verb in "EG" else text)


def _exponential(digits: str, point: int) -> str:
    exponent = 0 if digits == "0" else point - 1
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _positional(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits if digits != "0" else "0"
    if len(digits) <= point:
        return digits + "0" * (point - len(digits))
    return digits[:point] + "." + digits[point:]


def _general(size: float, bits: int, precision: int) -> str:
    if precision < 0:
        digits, point = shortest(size, bits)
        # for the choice between the two forms, the shortest counts as having this precision
        limit = 6
    else:
        precision = max(precision, 1)
        mantissa, exponent = f"{size:.{precision - 1}e}".split("e")
        digits = mantissa.replace(".", "").rstrip("0") or "0"
        point = int(exponent) + 1
        limit = precision
        if limit > len(digits) >= point:
            limit = len(digits)
    if point - 1 < -4 or point - 1 >= limit:
        return _exponential(digits, point)
    return _positional(digits, point)
