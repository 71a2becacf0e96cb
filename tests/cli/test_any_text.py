"""No text that a user types or writes into a file is a bug of hookcli's, whatever it holds.

Each parser is given values of its grammar, mixed with those that such grammars forget, and then
anything at all. It reads them, or refuses them with what is wrong, where, and what to do.
"""

from __future__ import annotations

import pickle

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from hookcli.catalogue.actions import CATALOGUE as ACTIONS
from hookcli.catalogue.kinds import CATALOGUE as KINDS
from hookcli.cli.app import COMMANDS
from hookcli.cli.application import application
from hookcli.cli.flags.signatures import flag_value
from hookcli.config.constructor_args import parse_arguments
from hookcli.config.load import read_config
from hookcli.errors import ProblemsError, RequestError
from hookcli.rules.catalogue import CATALOGUE as RULES
from hookcli.spec.inputs import DTYPES, LARGEST, parse_inputs
from hookcli.spec.settings import SETTINGS
from hookcli.spec.yaml import DEEPEST, flow, load_value

SOME = settings(
    max_examples=100,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FEW = settings(SOME, max_examples=40)

# Numbers, where a number, a size, a count or nothing of the kind is meant.
NUMBERS = [
    "0", "1", "-1", "010", "0o17", "0x1F", "1_000", "1:30", "1.5", "1e-4", "1e999", "-1e999",
    ".nan", ".inf", "-.inf", "9" * 19, "9" * 20, "9" * 400, "9" * 5000, "-" + "9" * 5000,
    "0x" + "f" * 6000, "1e" + "9" * 30, str(LARGEST), str(LARGEST + 1), "²", "٣", "２",
]  # fmt: skip
TAGS = [
    "null", "bool", "int", "float", "str", "map", "seq", "timestamp", "binary", "set", "omap",
    "pairs", "value", "merge", "yaml", "python/none", "python/object/apply:os.getcwd", "nothing",
]  # fmt: skip
NODES = ["", "''", "x", "3", "maybe", "2001-13-45", "=====", "[a]", "[]", "[a: 1]", "{a: 1}", "{}"]
WORDS = [
    "a", "fc", "forward", "stats", "true", "no", "~", '""', "2001-12-14", "<<", "=", "'*'",
    r'"\ud800"', r'"\udfff x"', r'"\U00110000"', r'"\UFFFFFFFF"', r'"\0"', r'"a\0.py:f"', r'"\x85"',
    "2x3", "2x3:int64:0..5", "model.py", "model.py:Net", "f.py:f", ".", "/", "a" * 300, "'('",
    "{regex: '('}", f"{{regex: 'a{{{'9' * 5000}}}'}}", "{call: f.py:f}", "{call: 3, args: 3}",
    "*a", "&a [*a]", "{? [a] : 1}", "{[a]: 1}", "{~: 1}", "{.nan: 1}", "{a: 1, a: 2}", "{<<: {}}",
]  # fmt: skip


def tagged():
    tags = st.builds("!!{}".format, st.sampled_from(TAGS))
    tags |= st.sampled_from(["!", "!x", "!<tag:yaml.org,2002:int>", "!<%ff>", "!!"])
    return st.builds("{} {}".format, tags, st.sampled_from(NODES))


SCALARS = st.sampled_from(NUMBERS) | st.sampled_from(WORDS) | tagged()


def flow_of(inner):
    lists = st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
    keys = st.sampled_from(["a", "b", "call", "args"]) | SCALARS
    pairs = st.lists(st.tuples(keys, inner), max_size=3)
    return lists | pairs.map(lambda pairs: "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}")


VALUES = st.recursive(SCALARS, flow_of, max_leaves=6)


def mapping(**keys):
    """A mapping with any of these keys."""
    pairs = [st.none() | value.map(f"{key}: {{}}".format) for key, value in keys.items()]
    return st.tuples(*pairs).map(lambda some: "{" + ", ".join(p for p in some if p) + "}")


def any_of(*names):
    return dict.fromkeys(names, VALUES)


ACTION = st.sampled_from(list(ACTIONS))
DO = ACTION | st.builds("{{{}: {}}}".format, ACTION, VALUES) | VALUES
AT = mapping(**any_of("name", "regex", "type", "depth", "leaf", "op", "node", "call", "part"))
HOOK = mapping(
    kind=st.sampled_from(list(KINDS)), at=AT | VALUES, do=DO, **any_of("calls", "steps", "every")
)
RUN = mapping(
    **any_of(
        "mode", "seed", "loss", "steps", "optimizer", "batch_size", "device", "dtype", "tensors",
        "timeout", "max_memory", "package", "targets",
    ),
    backward=mapping(**any_of("gradient", "times", "inputs")),
    distributed=mapping(**any_of("nproc", "bucket_cap_mb", "wrap", "backend")),
)  # fmt: skip


@st.composite
def check(draw):
    rule = RULES[draw(st.sampled_from(list(RULES)))]
    options = {one.name: VALUES for one in rule.options}
    return draw(mapping(**options)).replace("{", f"{{rule: {rule.name}, ", 1)


def one_of_list(inner):
    return inner.map("[{}]".format) | VALUES


@st.composite
def configuration(draw):
    keys = {
        "model": VALUES,
        "inputs": VALUES,
        "run": RUN | VALUES,
        "hooks": one_of_list(HOOK),
        "checks": one_of_list(check()),
        "suppress": one_of_list(mapping(**any_of("rule", "at", "reason"))),
        "libraries": VALUES,
        "extends": VALUES,
        "preset": VALUES,
    }
    some = draw(st.lists(st.sampled_from(list(keys)), min_size=1, max_size=3, unique=True))
    return "\n".join(f"{key}: {draw(keys[key])}" for key in some)


SIZES = st.sampled_from(NUMBERS) | st.integers(0, 9).map(str)
FILLS = st.builds("{}..{}".format, SIZES, SIZES) | st.sampled_from(["ones", "rand", "..", ""])
DTYPE = st.sampled_from([*DTYPES, "long", "flot", "", "²"])
SHAPES = st.lists(SIZES, min_size=1, max_size=4)
SPECS = (
    st.builds("{}:{}:{}".format, SHAPES.map("x".join), DTYPE, FILLS)
    | st.builds("{}[{}]:{}".format, DTYPE, SHAPES.map(", ".join), FILLS)
    | SHAPES.map("x".join)
    | VALUES.map("value:{}".format)
)


PLAIN = SPECS


@st.composite
def in_brackets(draw, depth=3):
    """Lists, tuples and mappings of these, and what looks like them."""
    some = [
        draw(in_brackets(depth - 1)) if depth and draw(st.booleans()) else draw(PLAIN)
        for _ in range(draw(st.integers(0, 3)))
    ]
    if draw(st.booleans()):
        some = [f"{draw(st.sampled_from(['a', 'b', '']))}: {text}" for text in some]
    return f"{draw(st.sampled_from('{[('))}{', '.join(some)}{draw(st.sampled_from('}])'))}"


SPECS |= in_brackets()
LOSSES = st.sampled_from(["mse", "cross_entropy", "nn.CTCLoss", "F.mse", "sum", "f.py:f", "x"])
ARGUMENTS = st.sampled_from(["weight", "reduction", "output", "**", "x", ""])
# Text as the command line gives it: bytes that are no UTF-8 come as surrogates.
TYPED = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.characters(categories=["Cs"])
)


UTF_16 = TYPED.map(lambda text: text.encode("utf-16", "ignore"))


def is_said(error):
    """Three lines, each of which says something."""
    for one in error.problems if isinstance(error, ProblemsError) else (error,):
        assert all(text.strip() for text in (one.message, one.place, one.hint))
        assert len(one.hint.splitlines()) == 1


def is_read_or_refused(read, *args):
    """What comes of it, which can go to the worker; None where it is refused."""
    try:
        found = read(*args)
    except RequestError as error:
        is_said(error)
        return None
    pickle.dumps(found)
    return found


def test_the_first_line_of_a_grammar_is_read():
    """So that what follows is not refused for what it has in common."""
    assert parse_inputs(("x=2x3:int64:0..5",))[0].spec.shape == (2, 3)
    assert parse_arguments(("x={a: [1, b]}",))[0].value == {"a": [1, "b"]}


@SOME
@given(VALUES | TYPED)
def test_an_argument_is_read_or_refused(text):
    for one in (text, f"x={text}"):
        found = is_read_or_refused(parse_arguments, (one,))
        if found is not None:
            flow(found[0].value).encode()  # a report shows it


@SOME
@given(SPECS | VALUES | TYPED)
def test_an_input_is_read_or_refused(text):
    for one in (text, f"x={text}"):
        is_read_or_refused(parse_inputs, (one,))


@SOME
@given(
    LOSSES
    | st.builds("{}({}={})".format, LOSSES, ARGUMENTS, VALUES)
    | st.builds("mse({}".format, TYPED)
)
def test_a_loss_is_read_or_refused(text):
    is_read_or_refused(flag_value, SETTINGS["loss"], text)


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_is_taken_for_what_it_says_or_refused(tag, tmp_path):
    for node in NODES:
        is_read_or_refused(parse_arguments, (f"!!{tag} {node}",))
        (tmp_path / "c.yaml").write_text(f"run: {{optimizer: {{lr: !!{tag} {node}}}}}")
        is_read_or_refused(read_config, str(tmp_path / "c.yaml"))


@pytest.mark.parametrize(
    "text",
    ["!!map 3", "!!seq x", "!!str [a]", "!!map [a]", "!!null x", "!!bool maybe", "!!int 1:x"],
)
def test_a_tag_that_does_not_fit_its_value_is_refused(text, tmp_path):
    with pytest.raises(ValueError, match=r"\w"):
        load_value(text)
    (tmp_path / "c.yaml").write_text(f"run: {{optimizer: {{lr: {text}}}}}")
    with pytest.raises(RequestError):
        read_config(str(tmp_path / "c.yaml"))


@pytest.mark.parametrize("part", ["[", "{a: ", "- ", "? ", "&a [", "!!seq [", "[[], "])
def test_what_is_nested_without_an_end_is_refused(part, tmp_path):
    is_read_or_refused(parse_arguments, (part * 300,))
    (tmp_path / "c.yaml").write_text(part * 300)
    is_read_or_refused(read_config, str(tmp_path / "c.yaml"))
    with pytest.raises(RequestError, match="nested deeper"):
        parse_arguments(("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1),))


@SOME
@given(configuration())
def test_a_configuration_is_read_or_refused(tmp_path, text):
    (tmp_path / "c.yaml").write_bytes(text.encode("utf-8", "surrogatepass"))
    is_read_or_refused(read_config, str(tmp_path / "c.yaml"))


@FEW
@given(st.binary() | VALUES.map(str.encode) | UTF_16)
def test_any_bytes_are_a_configuration_or_refused(tmp_path, data):
    (tmp_path / "c.yaml").write_bytes(data)
    is_read_or_refused(read_config, str(tmp_path / "c.yaml"))


@pytest.mark.parametrize("key", ["batch_size", "steps", "seed"])
def test_an_integer_that_torch_does_not_take_is_refused_with_its_line(key, tmp_path):
    (tmp_path / "c.yaml").write_text(f"run:\n  {key}: {LARGEST + 1}\n")
    with pytest.raises(RequestError) as caught:
        read_config(str(tmp_path / "c.yaml"))
    assert f"c.yaml:2: run.{key}" in caught.value.place
    (tmp_path / "c.yaml").write_text(f"run:\n  {key}: {LARGEST}\n")
    assert read_config(str(tmp_path / "c.yaml")).run[key] == LARGEST


@pytest.mark.parametrize("text", ["4294967296x4294967296", f"{LARGEST}x2", "2:float32:0..1e999"])
def test_sizes_and_ranges_that_torch_cannot_count_are_refused(text):
    with pytest.raises(RequestError):
        parse_inputs((text,))


# The command line: each flag of each command, with what might be typed there. ------------------

OFTEN = st.sampled_from(
    [*NUMBERS[:20], "", "-", ".", "/", "c.yaml", "m.py", "m.py:Net", "no.py", "a" * 300, "loop",
     "\udcff", "m.py:\udcff", ":", "x=y", "json=\udcff", "json=loop", "all", "forward,x", "layer,",
     "/dev/full", "m.py/x", "cuda:²", "cuda:" + "9" * 30, "output:[", "*", "["]
)  # fmt: skip
MODEL = st.sampled_from(["m.py", "m.py", "c.yaml"]) | OFTEN
FLAGS = (
    "-c --arg --argv --weights -i --batch-size --device --dtype --tensors --mode --seed --loss "
    "--target --steps --timeout --max-memory --nproc --parallel --fail-on --kinds --stream --phase "
    "--depth --only --columns --sort -f -o --color --baseline --against --tolerance --save "
    "--preset --what-if --python --rule -m --root --max-steps --stop-on --keep-batches --compiled "
    "--map --suggest-map --notify --on-finding --every --method"
).split()


@st.composite
def command_line(draw):
    command = draw(st.sampled_from(list(COMMANDS)))
    line = [command, *(draw(MODEL) for _ in range(2 if command == "diff" else 1))]
    for flag in draw(st.lists(st.sampled_from(FLAGS), max_size=2)):
        value = {"--arg": VALUES, "-i": SPECS, "--target": SPECS}.get(flag, OFTEN)
        line += [flag, draw(value | OFTEN)]
    return line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "m.py").write_text("import torch\nmodel = torch.nn.Linear(4, 3)\n")
    (tmp_path / "c.yaml").write_text("model: m.py\n")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def said(line, monkeypatch):
    """The status and stderr of a command line, None where it would have run a model."""

    class AskedError(BaseException):
        pass

    def stop(*_, **__):
        raise AskedError

    monkeypatch.setattr("hookcli.worker.attempts.run", stop)
    monkeypatch.setattr("hookcli.worker.diff.compare_pair", stop)
    monkeypatch.setattr("hookcli.cli.training.launch.launch", stop)

    def result(*args):
        try:
            status, _, err = line(*args)
        except AskedError:
            return None
        return status, err

    return result


def _is_fine(result):
    if result is None:
        return
    status, err = result
    assert status in {0, 2, 3}, err
    if status:
        kinds = [one.partition(" ")[0] for one in err.replace("\x1b[31m", "").splitlines()[-3:]]
        assert len(kinds) == 3, err
        assert "-->" in err.splitlines()[-2]
        assert err.splitlines()[-2].strip() != "-->"


@FEW
@given(command_line())
def test_a_command_line_is_carried_out_or_refused(said, folder, arguments):
    _is_fine(said(*arguments))


@settings(FEW, max_examples=20)
@given(st.sampled_from(list(COMMANDS)), st.lists(TYPED, max_size=3))
def test_any_words_are_a_command_line_or_refused(said, folder, command, words):
    _is_fine(said(command, *words))


@pytest.mark.parametrize(
    "name", ["COLUMNS", "RANK", "LOCAL_WORLD_SIZE", "GITHUB_WORKSPACE", "TERM"]
)
@pytest.mark.parametrize("value", ["", "0", "-1", "²", "9" * 5000, "loop", "\udcff", " 1"])
def test_an_environment_is_heeded_or_not(name, value, said, folder, monkeypatch):
    for other in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(other, "1")
    monkeypatch.setenv(name, value)
    _is_fine(said("grads", "m.py"))


def test_an_argument_with_a_nul_is_refused(said, folder):
    for line in (["inspect", "a\0b"], ["render", "a\0"], ["inspect", "m.py", "-o", "a\0"]):
        status, err = said(*line)
        assert (status, "NUL" in err) == (2, True)


def test_the_flags_named_here_are_those_that_there_are():
    """A flag that takes a value, and that nobody has put to this test yet."""
    import typer.main

    commands = typer.main.get_command(application(COMMANDS, called=COMMANDS)).commands.values()
    taken = {
        parameter.opts[0]
        for command in commands
        for parameter in command.params
        if parameter.opts[0].startswith("-") and not getattr(parameter, "is_flag", False)
    }
    assert taken - {"--help"} <= set(FLAGS)
