"""Events of Heliograph as types; schemas/notification-event.v1.schema.json explains each field."""

import dataclasses
import datetime
import enum
import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

Environment = Literal["production", "sandbox"]
Priority = Literal[10, 5, 1]
# Objects of any depth, as JSON has them; a TypedDict of your own fits.
Payload = Mapping[str, Any]

# One attempt, and nothing is stored for a device that is away.
SEND_ONCE = 0


class PushType(enum.StrEnum):
    ALERT = "alert"
    BACKGROUND = "background"
    LOCATION = "location"
    VOIP = "voip"
    COMPLICATION = "complication"
    FILE_PROVIDER = "fileprovider"
    MDM = "mdm"
    LIVE_ACTIVITY = "liveactivity"
    PUSH_TO_TALK = "pushtotalk"
    WIDGETS = "widgets"
    CONTROLS = "controls"


def epoch_seconds(time: datetime.datetime) -> int:
    """For `expiration` and `not_before`, which take no milliseconds."""
    return int(time.timestamp())


def epoch_milliseconds(time: datetime.datetime) -> int:
    """For `token_registered_at`, which takes no seconds."""
    return int(time.timestamp() * 1000)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipient:
    """One of an event's devices, with fields that replace the event's."""

    device_token: str
    apns_id: str | None = None
    collapse_id: str | None = None
    expiration: int | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class NotificationEvent:
    """One notification, for one device or for up to 1000 `recipients`.

    Has either `bundle_id` or `topic`.
    """

    # Equal for every copy of the event: it is what a repetition is known by.
    id: str
    device_token: str | None = None
    recipients: Sequence[Recipient] | None = None
    push_type: PushType
    payload: Payload
    bundle_id: str | None = None
    topic: str | None = None
    environment: Environment | None = None
    priority: Priority | None = None
    expiration: int | None = None
    collapse_id: str | None = None
    apns_id: str | None = None
    token_registered_at: int | None = None
    occurred_at: datetime.datetime | None = None
    campaign: str | None = None
    not_before: int | None = None
    metadata: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if (self.bundle_id is None) == (self.topic is None):
            raise ValueError("an event has either bundle_id or topic")
        if (self.device_token is None) == (self.recipients is None):
            raise ValueError("an event has either device_token or recipients")

    @property
    def key(self) -> str:
        """The record's key, in lower case: the events of a device keep their order."""
        return self.id if self.device_token is None else self.device_token.lower()


@dataclasses.dataclass(frozen=True, kw_only=True)
class BroadcastEvent:
    """One update for every subscriber of a channel."""

    id: str
    channel_id: str
    bundle_id: str
    payload: Payload
    expiration: int
    environment: Environment | None = None
    priority: Priority | None = None
    apns_request_id: str | None = None
    occurred_at: datetime.datetime | None = None
    campaign: str | None = None
    metadata: Mapping[str, str] | None = None

    @property
    def key(self) -> str:
        """The record's key: the newest broadcast of a channel wins."""
        return self.channel_id


Event = NotificationEvent | BroadcastEvent


def encoded(event: Event) -> bytes:
    """The record's value. A field that is None is left out: null is not the same."""
    text = json.dumps(_fields(event), ensure_ascii=False, separators=(",", ":"), default=_as_json)
    return text.encode()


def _fields(value: Event | Recipient) -> dict[str, Any]:
    return {name: value for name, value in vars(value).items() if value is not None}


def _as_json(value: object) -> str | dict[str, Any]:
    if isinstance(value, Recipient):
        return _fields(value)
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError("occurred_at needs an offset: datetime.now(datetime.UTC)")
        return value.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")
