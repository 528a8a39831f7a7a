"""Makes mutants of one file with mutmut's operators, and puts one in place.

mutmut leaves out what is decorated, but for static and class methods, and what stands
outside of functions. A mutant is known by what it changes in which function, so that a
list of mutants outlives changes elsewhere in the file.
"""

from __future__ import annotations
import __future__

import ast
import difflib
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import Mutation, create_mutations, deep_replace
from mutmut.mutation.trampoline_templates import mangle_function_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FunctionType, ModuleType

_Def = ast.FunctionDef | ast.AsyncFunctionDef


class NotApplicableError(Exception):
    """The mutated function cannot take the place of the one that runs."""


@dataclass(frozen=True)
class Mutant:
    """One fault in one function."""

    name: str
    """As mutmut names it."""

    path: str
    """Of the file, from the root of the project."""

    function: str
    """Module and function, or class and method, with dots."""

    lines: tuple[int, int]
    """First and last line of what is changed."""

    body: tuple[int, int]
    """First and last line of the function's body."""

    change: str
    """The lines that differ, with - and + before them."""

    source: str
    """The faulty function."""

    in_signature: bool
    """Whether a default of the function is what changed."""

    @property
    def key(self) -> tuple[str, str]:
        """By what it is known when the file changes elsewhere."""
        return self.function, self.change

    def put_in_place(self) -> None:
        """Exchange the code of the running function for the faulty one.

        Raises:
            NotApplicableError: If the two do not fit: they close over other names.
        """
        module = importlib.import_module(_module_name(self.path))
        names = self.function.removeprefix(f"{module.__name__}.").split(".")
        running = _running(module, names)
        faulty = _faulty(module, names, self.source, self.path)
        try:
            running.__code__ = faulty.__code__
        except ValueError as error:
            raise NotApplicableError(str(error)) from error
        if self.in_signature:  # else defaults stay the very objects they are
            running.__defaults__ = faulty.__defaults__
            running.__kwdefaults__ = faulty.__kwdefaults__


@dataclass(frozen=True)
class Site:
    """A place for a fault, which is made when it is asked for: it takes time."""

    path: str
    names: tuple[str, ...]
    number: int
    module: Any
    owner: Any
    mutation: Mutation
    positions: Any

    def mutant(self) -> Mutant | None:
        """Return the mutant; None if the fault makes no other code."""
        old, new = self.mutation.original_node, self.mutation.mutated_node
        before = self.module.code_for_node(self.owner)
        after = self.module.code_for_node(deep_replace(self.owner, old, new))
        if ast.dump(ast.parse(before)) == ast.dump(ast.parse(after)):
            return None
        place, body = self.positions[old], self.positions[self.owner.body]
        name = _module_name(self.path)
        return Mutant(
            name=f"{name}.{_mangled(self.names)}__mutmut_{self.number}",
            path=self.path,
            function=".".join((name, *self.names)),
            lines=(place.start.line, place.end.line),
            body=(body.start.line, body.end.line),
            change=_difference(before, after),
            source=after,
            in_signature=_signature(before) != _signature(after),
        )


def sites_of(root: Path, path: Path) -> list[Site]:
    """Return all places for a fault in a file."""
    file = path.relative_to(root).as_posix()
    module, mutations, _, _ = create_mutations(file, path.read_text("utf-8"))
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    positions = wrapper.resolve(PositionProvider)
    of_function: dict[Any, list[Mutation]] = {}
    for mutation in mutations:
        owner = mutation.contained_by_top_level_function
        of_function.setdefault(owner, []).append(mutation)
    return [
        Site(file, names, number, module, owner, mutation, positions)
        for owner, names in _functions(module)
        for number, mutation in enumerate(of_function.get(owner, ()), start=1)
    ]


def _mangled(names: tuple[str, ...]) -> str:
    owner = names[0] if len(names) > 1 else None
    return mangle_function_name(name=names[-1], class_name=owner)


def _signature(source: str) -> str:
    function = ast.parse(source).body[0]
    assert isinstance(function, _Def)
    return ast.dump(function.args)


def _functions(module: Any) -> Iterator[tuple[Any, tuple[str, ...]]]:
    for node in module.body:
        kind = type(node).__name__
        if kind == "FunctionDef":
            yield node, (node.name.value,)
        elif kind == "ClassDef":
            for inner in getattr(node.body, "body", ()):
                if type(inner).__name__ == "FunctionDef":
                    yield inner, (node.name.value, inner.name.value)


def _module_name(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def _difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), n=0, lineterm=""
    )
    return "\n".join(
        line[0] + " " + line[1:].strip() for line in [*lines][2:] if line[0] in "-+"
    )


def _running(module: ModuleType, names: list[str]) -> FunctionType:
    found: Any = module
    for name in names:
        found = vars(found)[name]
    return getattr(found, "__func__", found)  # type: ignore[no-any-return]


def _faulty(
    module: ModuleType, names: list[str], source: str, path: str
) -> FunctionType:
    """Define the faulty function among the module's names; nothing else runs."""
    function = ast.parse(source).body[0]
    assert isinstance(function, _Def)
    function.decorator_list = []
    body: list[ast.stmt] = [function]
    if len(names) > 1:  # for `super()` and names with two underscores
        shell = ast.parse(f"class {names[0]}: pass").body[0]
        assert isinstance(shell, ast.ClassDef)
        shell.body = body
        body = [shell]
    code = compile(
        ast.Module(body=body, type_ignores=[]),
        path,
        "exec",
        flags=__future__.annotations.compiler_flag,
        dont_inherit=True,
    )
    names_of_module = dict(vars(module))
    exec(code, names_of_module)  # noqa: S102 (our own function, with one fault)
    found: Any = names_of_module[names[0]]
    for name in names[1:]:
        found = vars(found)[name]
    return found  # type: ignore[no-any-return]
