"""Commands, their actions and their flags, which are made from the dataclasses in which the library declares options.

Errors of the library about an option name its flag: `n_max is 0` becomes `--n-max is 0`.
"""

import argparse
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, fields
from inspect import getdoc
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from tokenlab.core.errors import ParameterError
from tokenlab.core.options import MemoryOptions
from tokenlab.core.shards import ClusterOptions

Options = TypeVar("Options")
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

NOT_UTF8 = re.compile("[\udc80-\udcff]")
"""What Python decodes such bytes of an argument to, one each."""
_MOST = 10**9
"""More bytes or symbols than any text or token here has; larger numbers overflow in compiled code."""


def add_command(
    commands: Commands, run: Callable[[argparse.Namespace], None], help: str, **settings: Any
) -> argparse.ArgumentParser:
    """Add a command, or an action of one. Its name is that of the function `run` without the underscore, and its
    description is the docstring of `run`."""
    name = run.__name__.removeprefix("_")
    parser = commands.add_parser(name, help=help, description=getdoc(run), allow_abbrev=False, **settings)
    parser.set_defaults(run=run)
    return parser


def add_family(commands: Commands, name: str, help: str, description: str | None) -> Commands:
    """Add a command that has actions; returns where to add them."""
    parser = commands.add_parser(name, help=help, description=description, allow_abbrev=False)
    return parser.add_subparsers(title="actions", metavar="ACTION", required=True)


def add_options(
    target: argparse._ActionsContainer, kind: type, *, only: Collection[str] = (), without: Collection[str] = ()
) -> None:
    """Add a flag for each field of a dataclass of options, or for those in `only`, to a parser or a group of one.

    Where the parser suppresses defaults (`argument_default=argparse.SUPPRESS`), the parsed arguments hold only the
    options that were given.
    """
    hints = get_type_hints(kind)
    for field in fields(kind):
        if field.name not in without and (not only or field.name in only):
            _add_flag(target, field, hints[field.name])


def options_from(
    arguments: argparse.Namespace, kind: type[Options], defaults: Mapping[str, Any] = MappingProxyType({})
) -> Options:
    """The options in parsed arguments; those that are not there have their default.

    defaults: other defaults than those of the dataclass. Raises ParameterError naming the flag.
    """
    given = {name: getattr(arguments, name) for name in flags_of(kind) if hasattr(arguments, name)}
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    with named_as_flags(kind):
        return kind(**{**defaults, **given})


def add_cluster(parser: argparse.ArgumentParser, about: str | None = None) -> None:
    """Add the options that share the work; about: what the help says of them."""
    add_options(parser.add_argument_group("where it is computed", about), ClusterOptions)


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add the options that bound the memory of counting, and those that share the work."""
    add_options(parser, MemoryOptions)
    where = "where shards are counted (with --memory); the result is the same"
    add_options(parser.add_argument_group(where), ClusterOptions)


def shards_from(arguments: argparse.Namespace) -> tuple[MemoryOptions, ClusterOptions]:
    """The options of `add_shards`. Raises ParameterError for those of a cluster without a bound of memory."""
    memory, place = options_from(arguments, MemoryOptions), options_from(arguments, ClusterOptions)
    if memory.memory is None and place != ClusterOptions():
        raise ParameterError("--workers and --cluster share shards, which --memory makes; add it")
    return memory, place


def check_meaning(arguments: argparse.Namespace, how: str, meant: Collection[str], *kinds: type, **others: str) -> None:
    """Refuse options that were given but have no meaning with what the command does. Raises ParameterError.

    The parser must suppress defaults for these options, so that the parsed arguments hold only those that were given.

    Args:
        how: what the command does, for the message: `with --method words`.
        meant: the options that have a meaning there.
        kinds: the dataclasses of all options that may have none.
        others: flags of such options outside of these.
    """
    flags = flags_of(*kinds, **others)
    for flag in sorted(flags[name] for name in (vars(arguments).keys() & flags.keys()) - set(meant)):
        raise ParameterError(f"{flag} has no meaning {how}; leave it out")


def check_way(arguments: argparse.Namespace, way: str, ways: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse options that have no meaning with the chosen way, and say with which they have one; as `check_meaning`.

    ways: the flags that have a meaning with each, by the names of the options.
    """
    for name, flag in sorted(item for flags in ways.values() for item in flags.items()):
        if hasattr(arguments, name) and name not in ways[way]:
            theirs = " or ".join(one for one, flags in ways.items() if name in flags)
            raise ParameterError(f"{flag} has no meaning with {way}; it belongs to {theirs}")


def check_utf8(arguments: argparse.Namespace) -> None:
    """Refuse names and tokens that the files of an output cannot hold. Raises ParameterError."""
    for given in vars(arguments).values():
        for text in given if isinstance(given, list) else [given]:
            if isinstance(text, str) and NOT_UTF8.search(text):
                raise ParameterError(f"{text!r} is not UTF-8; name it in UTF-8")


def check_most(flag: str, value: float | None) -> None:
    """Refuse a number that is too large. Raises ParameterError naming the flag."""
    if value is not None and value > _MOST:
        raise ParameterError(f"{flag} is {value}; it must be at most {_MOST}")


def flag_of(field: Field[Any]) -> str:
    """The flag of an option on the command line."""
    return field.metadata.get("flag") or "--" + field.name.replace("_", "-")


def flags_of(*kinds: type, **others: str) -> dict[str, str]:
    """The flags of the options of dataclasses, and of others, by their names."""
    return {field.name: flag_of(field) for kind in kinds for field in fields(kind)} | others


@contextmanager
def named_as_flags(*kinds: type, **others: str) -> Iterator[None]:
    """Make errors of the library name the flags of options: those of dataclasses, and `others` by their names."""
    flags = flags_of(*kinds)
    # The library may call an option by the name of its flag: lambda.
    flags |= {flag.lstrip("-"): flag for flag in flags.values()} | others
    try:
        yield
    except ParameterError as error:
        names = "|".join(map(re.escape, flags))
        named = re.sub(rf"^({names})(?=:| is | has | `)", lambda found: flags[found[0]], str(error))
        raise ParameterError(named) from None


def add_model_name(target: argparse._ActionsContainer) -> None:
    """Add `--model`, a causal language model of `transformers`."""
    model = "a folder with a model of `transformers` (safetensors), or a name on the Hugging Face hub"
    target.add_argument("--model", required=True, metavar="FOLDER_OR_NAME", help=model)


def _add_flag(target: argparse._ActionsContainer, field: Field[Any], hint: Any) -> None:
    declared = field.metadata
    flags = [flag_of(field), *declared.get("aliases", ())]
    if hint is bool:
        target.add_argument(*flags, dest=field.name, action="store_true", help=_help(field))
        return
    settings: dict[str, Any] = {"metavar": declared.get("metavar")}
    names, convert = _values(hint)
    if get_origin(hint) is tuple:
        settings |= {"nargs": "*", "type": get_args(hint)[0], "metavar": settings["metavar"] or "NUMBER"}
    elif convert is None:
        settings |= {"choices": names}
    else:
        settings |= {"type": _or_name(convert, names, declared.get("none"))}
        if names:
            settings["metavar"] = settings["metavar"] or "|".join([*names, "NUMBER"])
    if target.argument_default is not argparse.SUPPRESS:
        settings |= {"default": field.default}
    target.add_argument(*flags, dest=field.name, help=_help(field), **settings)


def _values(hint: Any) -> tuple[Sequence[str], Callable[[str], Any] | None]:
    """The names that an option takes, and the type of its other values, if it takes any."""
    kinds = list(get_args(hint)) if isinstance(hint, UnionType) or get_origin(hint) is Union else [hint]
    names = [name for kind in kinds if get_origin(kind) is Literal for name in get_args(kind)]
    others = [kind for kind in kinds if get_origin(kind) is not Literal and kind is not NoneType]
    return names, others[0] if others else None


def _or_name(convert: Callable[[str], Any], names: Sequence[str], none: str | None) -> Callable[[str], Any]:
    """The type of a value that may also be a name, which the dataclass checks, or the word for None."""
    if not names and not none:
        return convert

    def value(given: str) -> Any:
        try:
            return None if given == none else convert(given)
        except ValueError:
            if names:
                return given
            raise argparse.ArgumentTypeError(f"{given!r} is neither a number nor {none}") from None

    return value


def _help(field: Field[Any]) -> str:
    """The help of an option, with its default where it has one to show."""
    declared, default = field.metadata, field.default
    text: str = declared["help"].replace("%", "%%")
    if default is None and declared.get("none"):
        return f"{text} (default {declared['none']})"
    if default is None or isinstance(default, bool):
        return text
    if isinstance(default, tuple):
        default = " ".join(map(str, default))
    return f"{text} (default {default:g})" if isinstance(default, float) else f"{text} (default {default})"
