"""Which passwords are refused because they are easy to guess, as NIST SP 800-63B asks.

Lists of common passwords, names and words, and patterns such as repeats and keyboard rows come from
zxcvbn, which works offline. There are no rules of composition. Pure.
"""

from collections.abc import Iterable
from typing import Final

from zxcvbn import zxcvbn

_PRODUCT: Final = "gpuaas"
_SCORE: Final = 3  # of 4: more than 10^8 guesses
_READ: Final = 72  # the estimate takes longer the more it reads
_WORD: Final = 3  # shorter words are in everything
_LEFT: Final = 8  # what a password has beside the names in it


def password_fault(password: str, names: Iterable[str]) -> str | None:
    """Why a password is refused, or None; `names` are those an attacker would try first."""
    known = _words([_PRODUCT, *names])
    if len(_without(_folded(password), known)) < _LEFT:
        return "is little more than your name, your tenant's or the product's"
    estimate = zxcvbn(password[:_READ], user_inputs=known)
    if estimate["score"] >= _SCORE:
        return None
    why = estimate["feedback"]["warning"]
    return " ".join(["is easy to guess.", *([why] if why else []), "Take several unrelated words."])


def _words(names: Iterable[str]) -> list[str]:
    """The names whole and in parts, the longest first."""
    parts = {
        part
        for name in names
        for piece in [name, name.partition("@")[0], *name.replace("@", ".").split(".")]
        for part in [_folded(piece), *map(_folded, piece.replace("-", " ").split())]
    }
    return sorted((part for part in parts if len(part) >= _WORD), key=len, reverse=True)


def _without(folded: str, words: Iterable[str]) -> str:
    for word in words:
        folded = folded.replace(word, "")
    return folded


def _folded(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())
