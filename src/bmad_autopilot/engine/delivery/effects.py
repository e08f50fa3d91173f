"""An effect of a delivery: whoever decided on it has looked for it first, and it is written down before it is done
and after. An answer that is lost leaves the first without the second: it is looked for again."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from ...core.errors import AutopilotError
from ...github.forge import ForgeError, Trouble
from ...github.git import RaceError
from ..looking import DeliveryLook, Look
from ..loop_state import Loop
from .observing import PASSING

AGAIN = 60.0  # seconds after which something that is in the way is looked at again
OPTIONAL = (Trouble.DENIED, Trouble.REFUSED, Trouble.MISSING)

Came = Mapping[str, Any]


def looked(look: Look) -> DeliveryLook:
    assert look.delivery is not None
    return look.delivery


def effect(loop: Loop, do: str, key: str, act: Callable[[], Came | None], /, **meant: Any) -> Came | None:
    """None: it was not done, or nobody knows."""
    loop.note("effect", do=do, key=key, **meant)
    try:
        came = dict(act() or {})
    except ForgeError as error:
        if error.is_race:
            loop.note("trouble", do=do, key=key, why=str(error), raced=True)
        elif error.trouble in (*PASSING, Trouble.ODD, Trouble.LOGIN):
            loop.note("trouble", do=do, key=key, why=str(error))
            if error.trouble is Trouble.LOGIN:
                end_for_login(loop, error)
        else:
            loop.note("did", do=do, key=key, failed=True, why=str(error), trouble=error.trouble.value)
        return None
    except RaceError as error:
        loop.note("trouble", do=do, key=key, why=str(error), raced=True)
        return None
    except AutopilotError as error:  # git's: nothing was done
        loop.note("did", do=do, key=key, failed=True, why=str(error), trouble="git")
        return None
    loop.note("did", do=do, key=key, **meant, **came)
    return came


def nicety(loop: Loop, do: str, key: str, act: Callable[[], Came | None], /, **meant: Any) -> bool:
    """What can be done without. True: it was done; where it was refused, it is not asked for again."""
    loop.note("effect", do=do, key=key, **meant)
    why, came = "", {}
    try:
        came = dict(act() or {})
    except ForgeError as error:
        if error.trouble not in OPTIONAL:
            loop.note("trouble", do=do, key=key, why=str(error))
            return True
        why = str(error)
    loop.note("did", do=do, key=key, **meant, **came, **({"refused": why} if why else {}))
    return not why


def end_for_login(loop: Loop, error: AutopilotError) -> NoReturn:
    """It is every epic's, so it is said once for all of them, and this one stays pending."""
    pending(loop, f"the forge: {error}", loop.doors.now() + AGAIN)
    raise error


def pending(loop: Loop, why: str, until: float | None, fingerprint: str = "", *, others: bool = False) -> str:
    """The lane has nothing to do just now: whoever drives it sees to the others meanwhile. `others`: it waits for
    another lane."""
    told = {"others": True} if others else {}
    loop.note("pending", why=why, until=until, fingerprint=fingerprint, pull=loop.run.delivery.pull, **told)
    return "pending"
