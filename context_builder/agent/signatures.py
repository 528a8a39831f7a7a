"""What a function takes: as a JSON Schema for the model, and checked when it calls."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
import typing
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PydanticSchemaGenerationError,
    PydanticUserError,
    ValidationError,
    create_model,
)
from pydantic.fields import FieldInfo

from context_builder.errors import InvalidItemError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["ArgumentsError", "Bound", "Signature"]

Bound = tuple[list[Any], dict[str, Any]]
"""Arguments by position, and by name."""

_NOT_NAMED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_MOST_PROBLEMS = 8


class ArgumentsError(ValueError):
    """Arguments are not what a tool takes. The message is for the model."""


class Signature:
    """The arguments of one function.

    Args:
        function: The function.
        descriptions: What is said of each argument.
        names: What types in quotes may be, beside the names of the function's module.

    Raises:
        InvalidItemError: If an argument has no type, or one that JSON cannot say.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        descriptions: Mapping[str, str],
        names: Mapping[str, Any],
    ) -> None:
        name = getattr(function, "__name__", type(function).__name__)
        self._parameters = _parameters_of(function, name)
        hints = _hints_of(function, self._parameters, names)
        fields: dict[str, Any] = {}
        for number, parameter in enumerate(self._parameters):
            if parameter.name not in hints:
                message = f"argument {parameter.name!r} of tool {name!r} has no type"
                raise InvalidItemError(message, field=parameter.name)
            # A field of ours has a name of ours: the argument's own may be `json`.
            fields[f"field{number}"] = _field(
                parameter, hints[parameter.name], descriptions.get(parameter.name)
            )
        try:
            self._model: type[BaseModel] = create_model(
                f"{name}_arguments",
                __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=False),
                **fields,
            )
            self.schema: Mapping[str, Any] = _without_titles(
                self._model.model_json_schema()
            )
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            message = f"an argument of tool {name!r} cannot be said in JSON: {error}"
            raise InvalidItemError(message, field="parameters") from error

    def read(self, arguments: str) -> Bound:
        """Return the arguments of a call, each as the function's type.

        Raises:
            ArgumentsError: If they are not what the function takes.
        """
        try:
            read = self._model.model_validate_json(arguments.strip() or "{}")
        except ValidationError as error:
            raise ArgumentsError(_said(error)) from error
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for number, parameter in enumerate(self._parameters):
            value = getattr(read, f"field{number}")
            if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
                positional.append(value)
            else:
                named[parameter.name] = value
        return positional, named


def _parameters_of(
    function: Callable[..., Any], name: str
) -> tuple[inspect.Parameter, ...]:
    parameters = tuple(inspect.signature(function).parameters.values())
    for parameter in parameters:
        if parameter.kind in _NOT_NAMED:
            message = (
                f"tool {name!r} takes any number of arguments ({parameter}); a model "
                "has to be told which there are"
            )
            raise InvalidItemError(message, field=parameter.name)
    return parameters


def _hints_of(
    function: Callable[..., Any],
    parameters: Iterable[inspect.Parameter],
    names: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the types of the arguments, those in quotes included.

    They may use the names around the place where the tool is made.

    Raises:
        InvalidItemError: If a type cannot be found.
    """
    holder = types.SimpleNamespace(
        __annotations__={
            one.name: one.annotation
            for one in parameters
            if one.annotation is not inspect.Parameter.empty
        }
    )
    space, local = _names_of(function)
    try:
        return typing.get_type_hints(
            holder, globalns=space, localns={**names, **local}, include_extras=True
        )
    except NameError as error:
        message = (
            f"a type of the tool cannot be found: {error}. It has to be there when the "
            "program runs, not only for the type checker"
        )
        raise InvalidItemError(message, field="parameters") from error


def _names_of(function: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the names that a function's types may use: its module's, and its own."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        function = getattr(type(function), "__call__", function)  # noqa: B004
    if not inspect.isfunction(function):
        return {}, {}
    own: dict[str, Any] = {}
    for name, cell in zip(
        function.__code__.co_freevars, function.__closure__ or (), strict=True
    ):
        with contextlib.suppress(ValueError):  # not filled yet
            own[name] = cell.cell_contents
    return function.__globals__, own


def _field(
    parameter: inspect.Parameter, hint: Any, description: str | None
) -> tuple[Any, Any]:
    default = parameter.default
    if isinstance(default, FieldInfo):
        hint, default = Annotated[hint, default], default.get_default()
    about: dict[str, Any] = {"alias": parameter.name}
    if description and not _describes(hint):
        about["description"] = description
    if default is inspect.Parameter.empty:
        return hint, Field(**about)
    return hint, Field(default=default, **about)


def _describes(hint: Any) -> bool:
    """Say whether a type has a description of its own."""
    metadata = getattr(hint, "__metadata__", ())
    return any(isinstance(one, FieldInfo) and one.description for one in metadata)


def _without_titles(schema: Any) -> Any:
    """Leave out the titles that pydantic makes of names: they tell a model nothing."""
    if isinstance(schema, list):
        return [_without_titles(member) for member in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: (
            {name: _without_titles(member) for name, member in value.items()}
            if key in {"properties", "$defs"}
            else _without_titles(value)
        )
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _said(error: ValidationError) -> str:
    """Say to a model what is wrong with which field, and what was expected."""
    problems = error.errors(include_url=False, include_context=False)
    said = [_problem(problem) for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        said.append(f"and {len(problems) - _MOST_PROBLEMS} more")
    return "; ".join(said)


def _problem(problem: Any) -> str:
    where = ".".join(map(str, problem["loc"]))
    what = problem["msg"]
    if problem["type"] == "json_invalid":
        return f"the arguments are not valid JSON ({what})"
    if problem["type"] == "extra_forbidden":
        return f"{where}: there is no such argument"
    if problem["type"] == "missing":
        return f"{where}: this argument is required"
    given = repr(problem["input"])
    shown = given if len(given) <= 60 else f"{given[:57]}..."  # noqa: PLR2004
    return f"{where or 'the arguments'}: {what}; it was {shown}"
