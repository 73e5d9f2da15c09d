"""Quantities as people read them: three digits, units beside the number. Terminal, pages and mails all take these."""

from datetime import UTC, datetime

_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def three_digits(value: float) -> str:
    """`0.35`, `4.21`, `42.1`, `421`, `4,210`."""
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def size(count: float) -> str:
    """Bytes in decimal units, without a fraction where there is none: `5 TB`, `1.23 GB`."""
    unit = 0
    while count >= 999.5 and unit < len(_SIZES) - 1:
        count /= 1000
        unit += 1
    exact = unit == 0 or (count < 999.5 and count == int(count))
    return f"{count:.0f} {_SIZES[unit]}" if exact else f"{three_digits(count)} {_SIZES[unit]}"


def duration(seconds: float | None) -> str:
    """Seconds as people say them; a dash where nothing is known."""
    if seconds is None:
        return "–"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    minutes = whole // 60
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // 1440} d {minutes % 1440 // 60} h"


def age(seconds: float) -> str:
    """How long ago something was, in one unit: `40 s`, `12 min`, `3 h`, `9 d`."""
    for unit, name, most in ((1, "s", 60), (60, "min", 60), (3600, "h", 48)):
        if seconds < most * unit:
            return f"{int(seconds // unit)} {name}"
    return f"{int(seconds // 86_400):,} d"


def rate(mb_s: float) -> str:
    """MB/s (10⁶ bytes)."""
    return f"{three_digits(mb_s)} MB/s"


def dollars(usd: float) -> str:
    """Four places below a dollar, since most transfers cost less; a sign stands before the unit: `-$0.0007`."""
    amount = abs(usd)
    words = f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"
    return f"-{words}" if usd < 0 and float(words[1:].replace(",", "")) else words


def dollars_more(usd: float) -> str:
    """A difference of costs without a sign: `$0.0124 more`, `$0.0007 less`."""
    return f"{dollars(abs(usd))} {'less' if usd < 0 else 'more'}"


def many(count: int, one: str, several: str | None = None) -> str:
    """`1 file`, `4,021 files`."""
    return f"{count:,} {one if count == 1 else several or one + 's'}"


def moment(at: float) -> str:
    """Unix seconds as `21 Nov 2026, 22:41:07 UTC`."""
    return datetime.fromtimestamp(at, UTC).strftime("%-d %b %Y, %H:%M:%S UTC")
