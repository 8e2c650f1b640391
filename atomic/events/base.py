"""What all models of the wire share."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, PlainValidator, SkipValidation, ValidationError, model_validator
from pydantic.alias_generators import to_camel


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004 - pydantic takes ValueError
    return value


# pydantic's own str refuses lone surrogates, which agents do send.
Text = Annotated[str, PlainValidator(_text)]


class Wire(BaseModel):
    """A JSON object of the stream. Fields are the wire's, in snake_case; unknown ones are kept; nothing is coerced.

    An optional field is None when the wire has null there or nothing.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        protected_namespaces=(),
    )

    _python_names: ClassVar[frozenset[str]] = frozenset()  # of fields that have another name on the wire

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls._python_names = frozenset(
            name for name, field in cls.model_fields.items() if field.alias not in (None, name)
        )

    @model_validator(mode="before")
    @classmethod
    def _keep_names_apart(cls, data: Any) -> Any:
        """An unknown field that has a known one's Python name would come back under the wrong name."""
        if isinstance(data, dict) and not cls._python_names.isdisjoint(data):
            raise ValueError("an unknown field has the Python name of a known one")
        return data

    def to_wire(self) -> dict[str, Any]:
        """The object as it was read, unknown fields and nulls included."""
        return self.model_dump(by_alias=True, exclude_unset=True)


class Event(Wire):
    """A record of the stream, named by its ``type``."""

    type: Text


class UnknownEvent(Event):
    """A record of a type that is not known, or one of a known type whose fields are not what they should be."""

    type: Text = ""
    data: Annotated[dict[str, Any], SkipValidation]  # the whole record
    problem: str | None = None  # what is odd about a known type

    def to_wire(self) -> dict[str, Any]:
        """The object as it was read."""
        return self.data


def parse(model: type[Event], data: dict[str, Any]) -> Event:
    """The event, or an UnknownEvent when its fields do not fit."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return UnknownEvent(type=data["type"], data=data, problem=f"{where}: {first['msg']}")
