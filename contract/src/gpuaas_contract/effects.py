"""What each purpose of an operation does to the state machines, as data.

An operation's kind is the app's word; its purpose (`manifest.py`) is all the platform acts on, and
this table is all it means. Whatever state a failure leaves, the same can be asked for again there.
Read by the platform and by the generator of docs/states.md. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import InstanceStatus, MemberStatus


@dataclass(frozen=True)
class MemberEffect:
    """What happens to the operation's member.

    `requires`: states in which it may be asked for; empty means any that is not `removed`.
    `during` holds when work began, `after` when it succeeded, `given_up` when it failed or was
    cancelled in the middle; a report that says something more exact wins.
    """

    requires: frozenset[MemberStatus] = frozenset()
    during: MemberStatus | None = None
    after: MemberStatus | None = None
    given_up: MemberStatus | None = None


@dataclass(frozen=True)
class InstanceEffect:
    """What happens to the instance; the fields read as those of `MemberEffect`.

    Empty `requires` means any state before `deleting`.
    """

    requires: frozenset[InstanceStatus] = frozenset()
    during: InstanceStatus | None = None
    after: InstanceStatus | None = None
    given_up: InstanceStatus | None = None


@dataclass(frozen=True)
class Effect:
    """What one purpose means. `exclusive`: nothing else of the instance runs beside it."""

    exclusive: bool
    instance: InstanceEffect = InstanceEffect()
    member: MemberEffect | None = None


_I = InstanceStatus
_M = MemberStatus
_UP: Final = frozenset({_I.RUNNING, _I.DEGRADED})
_BROKEN: Final = frozenset({_I.DEGRADED, _I.FAILED})  # what failed may look better a while later
_KNOWN: Final = _UP | {_I.STOPPED, _I.FAILED}
_GIVEN_UP: Final = _I.DEGRADED  # whatever was interrupted may be half done: never said to be well

EFFECTS: Final[Mapping[Purpose, Effect]] = {
    Purpose.DEPLOY: Effect(
        exclusive=True,
        instance=InstanceEffect(_BROKEN | {_I.REQUESTED}, _I.DEPLOYING, _I.RUNNING, _I.FAILED),
    ),
    Purpose.STOP: Effect(
        exclusive=True,
        instance=InstanceEffect(_UP | {_I.FAILED}, _I.STOPPING, _I.STOPPED, _GIVEN_UP),
    ),
    Purpose.START: Effect(
        exclusive=True,
        instance=InstanceEffect(_BROKEN | {_I.STOPPED}, _I.STARTING, _I.RUNNING, _GIVEN_UP),
    ),
    Purpose.RESTART: Effect(
        exclusive=True,
        instance=InstanceEffect(_UP | {_I.FAILED}, _I.STOPPING, _I.RUNNING, _GIVEN_UP),
    ),
    Purpose.UPGRADE: Effect(
        exclusive=True, instance=InstanceEffect(_KNOWN, _I.UPGRADING, _I.RUNNING, _GIVEN_UP)
    ),
    Purpose.ROLLBACK: Effect(
        exclusive=True, instance=InstanceEffect(_KNOWN, _I.ROLLING_BACK, _I.RUNNING, _GIVEN_UP)
    ),
    Purpose.RECONCILE: Effect(exclusive=False),
    Purpose.DELETE: Effect(
        exclusive=True,
        instance=InstanceEffect(during=_I.DELETING, after=_I.DELETED),
    ),
    Purpose.MEMBER_ADD: Effect(
        exclusive=False,
        instance=InstanceEffect(_UP),
        member=MemberEffect(
            frozenset({_M.REQUESTED, _M.DEGRADED, _M.FAILED}), _M.RECONCILING, _M.READY, _M.FAILED
        ),
    ),
    Purpose.MEMBER_DRAIN: Effect(
        exclusive=False,
        instance=InstanceEffect(_UP),
        member=MemberEffect(
            frozenset({_M.READY, _M.DEGRADED, _M.FAILED}), _M.DRAINING, _M.DRAINED, _M.DEGRADED
        ),
    ),
    Purpose.MEMBER_RESUME: Effect(
        exclusive=False,
        instance=InstanceEffect(_UP),
        member=MemberEffect(
            frozenset({_M.DRAINED, _M.DRAINING, _M.DEGRADED, _M.FAILED}), None, _M.READY
        ),
    ),
    Purpose.MEMBER_REMOVE: Effect(
        exclusive=False, member=MemberEffect(frozenset(), _M.REMOVING, _M.REMOVED, _M.FAILED)
    ),
    Purpose.MEMBER_REPLACE: Effect(
        exclusive=False,
        instance=InstanceEffect(_UP),
        member=MemberEffect(frozenset({_M.READY, _M.DEGRADED, _M.DRAINING, _M.DRAINED, _M.FAILED})),
    ),
    Purpose.CUSTOM: Effect(exclusive=False),
}
