"""Floating-point numbers as Go writes them."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np


# one number per possible count of complete partitions
@lru_cache(maxsize=4096)
def shortest(value: float, bits: int) -> tuple[str, int]:
    """The fewest digits that name a number (not negative) of this size, and n of 0.digits times 10^n."""
    if bits == 32:
        text = np.format_float_scientific(np.float32(value), trim="-")
    else:
        text = np.format_float_scientific(np.float64(value), trim="-")
    mantissa, exponent = text.lstrip("-").split("e")
    digits = mantissa.replace(".", "").rstrip("0")
    return digits or "0", int(exponent) + 1 if digits else 1


def formatted(value: float, bits: int, verb: str, precision: int) -> str:
    """As strconv formats it; precision -1: as many digits as it needs. Verbs are b, e, E, f, g, G, x and X."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if bits == 32:
        value = float(np.float32(value))
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    size = abs(value)
    match verb:
        case "b":
            return sign + _binary(size, bits)
        case "x" | "X":
            text = _hexadecimal(size, precision)
            return sign + (text.upper() if verb == "X" else text)
        case "e" | "E":
            text = f"{size:.{precision}e}" if precision >= 0 else _exponential(*shortest(size, bits))
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
        # when it decides between the two forms, the shortest is taken to have this precision
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


def _binary(size: float, bits: int) -> str:
    """mantissa p exponent, as they are stored."""
    digits = 23 if bits == 32 else 52
    least = -149 if bits == 32 else -1074
    if size == 0:
        return f"0p{least:+d}"
    fraction, exponent = math.frexp(size)
    shift = max(exponent - digits - 1, least)
    return f"{int(math.ldexp(fraction, exponent - shift))}p{shift:+d}"


def _hexadecimal(size: float, precision: int) -> str:
    if size == 0:
        return "0x0" + ("." + "0" * precision if precision > 0 else "") + "p+00"
    fraction, exponent = math.frexp(size)
    exponent -= 1
    mantissa = int(math.ldexp(fraction, 53))  # 1 and 52 bits
    if precision < 0:
        digits = f"{mantissa - (1 << 52):013x}".rstrip("0")
        lead = 1
    else:
        keep = min(precision, 13)
        drop = 52 - 4 * keep
        rounded = mantissa >> drop
        rest = mantissa & ((1 << drop) - 1)
        half = (1 << drop) >> 1
        if drop and (rest > half or (rest == half and rounded & 1)):
            rounded += 1
        if rounded >> (4 * keep) > 1:
            rounded >>= 1
            exponent += 1
        lead = rounded >> (4 * keep)
        digits = (f"{rounded - (lead << (4 * keep)):0{keep}x}" if keep else "") + "0" * (precision - keep)
    point = f".{digits}" if digits else ""
    return f"0x{lead}{point}p{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
