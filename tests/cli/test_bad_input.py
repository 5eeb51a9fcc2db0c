"""Every command says in one line what is wrong, by whatever argument or option it was given, and writes nothing."""

import json
import re
import subprocess

import pytest
import small_bases
import tiny_models
from command import PROGRAM, ended_here, parsers, tokenlab_here
from tiny_language_models import language_model, save_entropy_patcher
from tiny_tokenizers import EXPRESSIONS, byte_level, train
from tokenizers import Tokenizer, models, normalizers

from tokenlab.cli.commands import command_parser
from tokenlab.language.stored import save_language_model

TEXT = "共同创造美好的新世纪，共同 努力\n\n美好。 hello abc\n"

FILE_LAST = """
segment
segment --method words
segment good.txt --statistics-from
segment good.txt --model
segment good.txt --entropies
entropy --model BERT
statistics
bits encode
bits decode
bits measure
bits encode good.txt --known
codes learn --code byte -o out.json
codes encode --code code.json
codes decode --code code.json
codes check --code code.json
codes encode good.txt --code
codes show
patches cut --patcher space
patches cut --patcher space --summary
patches learn -o out.json --tokenizer
measure --tokenizer t.json
measure good.txt --tokenizer t.json --parallel
export -o out
export good.txt -o out --check
export good.txt -o out --word-model
train -o out
train -o out --from-counts
train good.txt -o out --check
count -o out.parquet
score good.txt
score good.txt good.txt --words
exact score --model BYTES
exact check t.json --text
compare -o out
generate --model LM --file
"""
"""Commands whose last argument is a file that is missing, or not UTF-8."""

CASES = """
juggle -> juggle
--verison -> did you mean --version?
--print-completion cmd -> cmd
segment - -o x -> -o
segment - -> standard input: ... no character
segment . -> folder
segment good.txt --mehtod words -> tokenlab segment: ... did you mean --method?
segment good.txt other -> see `tokenlab segment --help`
segment good.txt --format json -> invalid choice: 'json'
segment good.txt --workers 99999999999999999999 -> --workers is 999 ... at most
segment - --text-key t -> --text-key has no meaning
segment good.txt --lambda 1e308 -> --lambda is 1e+308
segment good.txt --isolate none --split-kana -> --split-kana ... where isolate
codes learn good.txt --code latom --vocabulary 300 -o c.json -> --vocabulary ... without --restarts
codes learn good.txt --code random -N 64 -K 2 -o c.json -> -N is 64; ... 1 to 26
segment good.txt --lambda 1 --entropy-only -> entropy-only
segment good.txt --single-character fallback -> greedy
segment good.txt --n-max 5 --statistics-from s.parquet -> other options
segment good.txt --statistics-from s.csv -> s.csv: ... in Parquet alone
segment good.txt --statistics-from s.parquet --memory 1G -> --memory ... holds counts
segment key.jsonl --text-key body --statistics-from folder/a.jsonl -> no key 'body'
segment good.txt --model damaged --isolate none -> --isolate ... fitted word model; ... or a language model
segment good.txt --memory 1G --method words -> --memory ... with --method words
segment empty --method words -> empty: ... no character
segment latin.txt --method words -> latin.txt: ... script
segment good.txt --method words --sample many -> --sample is 'many'
segment good.txt --method words --lambda 1 -> --lambda ... with --method words
segment good.txt --method words --workers 2 -> --workers ... add --sample
segment good.txt --method words --save-model nowhere/m -> --save-model is
segment good.txt --save-model m -> --save-model ... with --method variation; it belongs to --method words
segment good.txt good.txt -> the command takes no more files
segment good.txt --classes 9 -> --classes ... with --method variation
segment good.txt --model damaged -> damaged
segment good.txt --model damaged --seed 1 -> --seed ... fitted word model
segment good.txt --model damaged --method words -> --method ... with --model
segment good.txt --delimiter ab -> --delimiter is 'ab'
segment good.txt --delimiter 。 -> good.txt: the text contains '。'
segment good.txt --delimiter | --json -> not allowed with
segment good.txt --model BERT --entropies e.parquet -> not allowed with
segment good.txt --model BERT --lambda 2 -> --lambda ... with a language model
segment good.txt --model BERT --boundaries rise -> --threshold is missing
segment good.txt --model folder -> no config.json
segment good.txt --model folder --unit cluster -> --unit ... with a language model
segment good.txt --boundaries rise -> --boundaries ... with --method variation
segment good.txt --entropies e.parquet --context 9 -> --context ... with --entropies
segment good.txt --entropies good.txt -> good.txt:1: ... entropy
segment - --entropies - -> standard input
segment latin.txt --entropies e.parquet -> line 1 of
segment longer.txt --entropies e.parquet -> ends before line 4 of
segment shorter.txt --entropies e.parquet -> goes on behind line 1
entropy good.txt -> --model
entropy good.txt --model folder -> no config.json
entropy good.txt --model BERT --context 65 -> --context is 65, ... 64 positions
entropy good.txt --model BERT --threads 0 -> --threads is 0
entropy good.txt --model BERT --json -o out.jsonl -> --json ... with --output
statistics s.parquet -> no column 'text' ... --text-key
statistics good.txt -o - -> --output is '-'
statistics good.txt -o new/s.parquet -> no folder
statistics good.txt -o folder -> no regular file
statistics good.txt -o s.csv.gz -> s.csv.gz ... must end in
statistics good.txt --top -1 -> --top is -1
statistics good.txt --json -o new.parquet -> --json ... no rows
statistics good.txt --workers 2 -> --workers ... --memory
statistics good.txt --memory 1X -> --memory is '1X'
statistics good.txt --memory 499M -> at least 500M
bits encode --known - -> standard input ... only one
bits encode good.txt --prefixes 5 -> --prefixes is 5; ... 3 or 4
bits encode good.txt --mode x -> --mode
bits measure empty -> empty: no character
bits measure good.txt --alpha nan -> --alpha
codes -> ACTION
codes learn empty --code latom -o out.json -> empty:
codes learn latin.txt --code latom -N 2 -K 3 -o code.json -> 3^2 = 9
codes learn good.txt --code random --end-state -o out.json -> --end-state has ... `random`
codes learn good.txt --code latom --tables folder -o out.json -> --tables has ... `latom`
codes learn good.txt --code latom --seed -1 -o out.json -> --seed
codes learn good.txt --code radical -o out.json -> --tables
codes learn good.txt --code myte --tables folder -o out.json -> decompose_map.json
codes learn latin.txt --code stroke --tables tables -o out.json -> none of its characters
codes learn good.txt --code byte -o - -> --output
codes encode good.txt --code code.json --unknown no -> invalid choice
codes encode good.txt --code byte.json --unknown skip -> --unknown
codes encode good.txt -> --code
codes decode latin.txt --code code.json -> latin.txt:1: token 1: 'In'
codes decode good.txt --code stroke.json -> irreversible
codes show stroke.json --html page.html -> --html
codes show code.json --html new/page.html -> no folder
patches learn --tokenizer t.json -S 1 -o out.json -> -S is 1; ... at least 2
patches learn --tokenizer unigram.json -o out.json -> unigram.json ... is Unigram
patches learn --tokenizer nothing.json -o out.json -> nothing.json: ... no token
patches cut good.txt --patcher bpe -> needs --tokenizer
patches cut good.txt --patcher bpe --tokenizer lower/tokenizer.json -> good.txt, text 1:
patches cut good.txt --patcher bpe --tokenizer t.json --merges none -> --merges ... without --summary
patches cut good.txt --patcher space --length 3 -> --length ... with --patcher space
patches cut good.txt --patcher fixed --length 0 -> --length is 0
patches cut good.txt --patcher entropy --model good.txt -> good.txt ... no folder of a
patches cut good.txt --patcher learned --model PATCHER -> PATCHER ... kind learned
patches cut good.txt --patcher entropy --model PATCHER --rise 1 -> --rise ... with --rule threshold
patches cut good.txt --patcher entropy --model PATCHER --threshold 1 --mean-length 4 -> --threshold ... found with
patches cut good.txt --patcher entropy --model PATCHER --mean-length 4 --cap 3 -> come nearest to 4
patches flops --size huge -> --size is 'huge'; ... tiny
patches flops --length inf -> --length is inf; ... at most
patches flops --patcher bytes --length 4 -> --length ... with --patcher bytes
patches flops --patcher tokens --patcher learned -S 9 -> -S ... with --patcher tokens and learned
patches flops --patcher space --symbols 300 -> --symbols ... with --patcher space
patches flops --patcher bpe -S 3 -> -S is 3; ... mean length
measure good.txt -> --tokenizer
measure - --tokenizer t.json -> standard input: ... nothing
measure good.txt --tokenizer t.json --reference good.txt -> good.txt: no tokenizer
measure good.txt --tokenizer t.json --parallel shorter.txt -> shorter.txt: 1 ... good.txt has 3
measure - --tokenizer t.json --parallel - -> standard input ... only one
export good.txt -o out --decoder greedy -> --decoder is 'greedy'
export good.txt -o out --vocabulary-size 300 -> --vocabulary-size is 300
export good.txt -o out --to sentencepiece --model bpe -> --model is 'bpe'
export good.txt -o out --special-tokens pad= -> --special-tokens has 'pad='
export good.txt -o out --check empty -> empty: no character
export key.jsonl --text-key body -o out --check folder/a.jsonl -> no key 'body'
export good.txt -o out --word-model damaged --lambda 1 -> --lambda ... with --word-model
export good.txt -o out --word-model damaged --isolate script -> --isolate ... with --word-model
export good.txt -o out --json -> --json ... without --check
export - -o out --check - -> standard input can only be INPUT
export - -o out -> no character
export good.txt -o folder -> already holds
export good.txt -o good.txt/x -> good.txt ... may be written
train -o out -> name INPUT or --from-counts
train good.txt --from-counts c.tsv -o out -> one of the two
train --from-counts good.txt -o out -> no table of counts
train --from-counts c.tsv -o out -> name it by --cut
train --from-counts c.parquet --cut auto -o out -> was counted with gpt2
train --from-counts c.parquet --workers 2 --memory 1G -o out -> --memory ... with --from-counts
train --from-counts c.parquet --text-key x -o out -> --text-key ... with --from-counts
train empty -o out -> there is no text
train good.txt --cut no.words -o out -> no.words:
train good.txt --check empty -o out -> empty: no character
train good.txt --bytes level --coverage 0.9 -o out -> --coverage ... without --bytes fallback
train good.txt --cut gpt2 --coverage 0.9 -o out -> --coverage ... without --bytes fallback
train good.txt --cut= -o out -> --cut is empty
train good.txt --cut damaged -o out -> rename it to *.words
train -o out --special-tokens <s> good.txt -> name INPUT before
train good.txt --cut (a -o out -> --cut is '(a'
train good.txt --vocabulary 9 8 -o out -> --vocabulary is 9 8
train -o out --vocabulary 8 9 good.txt -> numbers ... INPUT goes before
train good.txt --special-tokens eso=<e> -o out -> 'eso'
train good.txt --bytes level --special-tokens §end§ -o out -> '§end§', which is read as other bytes
train good.txt --special-tokens <0x+4> -o out -> '<0x+4>', which looks like a byte
train good.txt -o . -> holds the input
count good.txt -o c.csv -> c.csv ... must end in
count good.txt c.parquet -o d.parquet -> different cuts
count c.parquet -o d.parquet --cut gpt2 -> no meaning
count c.parquet c.tsv -o d.parquet --longest-line 3 -> --longest-line ... all inputs are counts
count c.parquet c.tsv -o d.parquet -> c.tsv does not say ... by --cut
count good.txt c.tsv -o d.parquet -> c.tsv does not say ... by --cut
count c.parquet c.tsv -o d.parquet --cut auto -> different cuts (auto, gpt2)
train --from-counts c.parquet c.tsv -o out -> c.tsv does not say ... by --cut
count - -o d.parquet -> no text
score - - -> only one of
score good.txt longer.txt --skip-differing -> good.txt ... before line 4 of
score shorter.txt latin.txt --skip-differing -> every line
score shorter.txt folder/a.jsonl -> looks like jsonl
exact next a -> --model
exact next a --model without -> start
exact next --model BYTES -> one text: TEXT
exact score empty --model BYTES -> empty: no character in it; nothing can be measured
exact next --file good.txt --bytes --model BYTES -> --bytes has no meaning
exact next --bytes E4B --model BYTES -> no hexadecimal number
exact next --bytes E461 --model BYTES -> TEXT: ... byte 0xE4 at byte 1
exact next a --top 0 --model BYTES -> --top is 0
exact next a --device tpu --model BYTES -> --device is 'tpu'
exact sample a --top-k 3 --by tokens --model BYTES -> --top-k ... with --by tokens
exact sample a --by tokens --estimator naive --model BYTES -> --estimator is naive
exact sample a --by tokens --prune 0.1 --model BYTES -> --prune ... with --by tokens
exact complete a --estimator naive --model BYTES -> --estimator is naive
exact complete a --no-truncate --model BYTES -> tokenlab: --no-truncate: completion
exact sample a --by tokens --no-truncate --model BYTES -> tokenlab: --no-truncate: sampling by tokens
exact sample a --by tokens --unit bytes --model BYTES -> --unit ... with --by tokens
exact sample a --temperature 0 --seed 1 --model BYTES -> --seed ... with --temperature 0
exact sample a --temperature 0 --top-p 0.5 --model BYTES -> --top-p ... with --temperature 0
exact check folder -> no tokenizer
exact check lower -> --ignore-normalizer
exact complete ab --model BYTES --beams 3 -> --beams ... with --method greedy
exact complete ab --model BYTES --method beam --seed 3 -> --seed ... with --method beam
exact check tokenizers/other -> tokenizers/other
compare latin.txt -o out -> latin.txt: ... 20 documents
compare long.txt BPE lower -o out -> lower: ... compared
compare long.txt BPE -o out -> BPE ... only candidate
compare long.txt -o out --device gpu -> --device is 'gpu'; use cpu, cuda or cuda:N
compare long.txt -o out --device cuda:99 -> --device is 'cuda:99', but PyTorch sees
compare long.txt -o out --workers 99999999999 -> --workers is 999 ... at most
compare long.txt -o out --batch 0 -> --batch is 0
compare long.txt -o out --seeds 1 -> --seeds is 1
compare long.txt -o folder -> --output is
compare good.txt nowhere -o out -> nowhere: no such file or folder
compare good.txt --flops 1e9 --minutes 5 -o out -> --minutes ... with --flops
compare good.txt a b --vocabulary 999 -o out -> --vocabulary ... candidates are named
generate the --model LM --length -1 -> --length is -1
generate the --model LM --spellings -> --spellings ... bpe patches
generate the --model none -> none: ... no folder of a
segment --method words --save-model link.txt good.txt -> --save-model is link.txt ... input
segment --method words --save-model same.txt good.txt -> --save-model is same.txt ... input
segment --method words --save-model folder/../good.txt good.txt -> --save-model ... is an input
entropy --model BERT -o good.txt good.txt -> --output is good.txt ... input
statistics -o good.txt good.txt -> --output is good.txt ... input
statistics folder --format jsonl -o folder/a.jsonl -> a.jsonl ... input folder
codes learn --code random -o good.txt good.txt -> --output is good.txt ... input
generate the --model LM --temperature 0 --top-k 3 -> --top-k ... with --temperature 0
generate the --model LM --temperature 0 --seed 3 -> --seed ... with --temperature 0
codes learn --code radical --tables tables good.txt -o tables/ids.json -> ids.json ... input tables
codes show code.json --html code.json -> --html is code.json ... input
patches learn --tokenizer BPE -o BPE/tokenizer.json -> BPE/tokenizer.json ... is an input
export -o good.txt good.txt -> --output is good.txt ... input
export --to sentencepiece -o damaged --word-model damaged good.txt -> --output is damaged ... input
export --to sentencepiece -o damaged --statistics-from damaged good.txt -> --output is damaged ... input
export -o folder --check folder/other good.txt -> --output is folder ... input folder/other
train -o good.txt good.txt -> --output is good.txt ... input
count -o good.txt good.txt -> --output is good.txt ... input
"""
"""A command -> words of its complaint, in this order."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """The files that the commands name."""
    folder = tmp_path_factory.mktemp("inputs")
    texts = {
        "good.txt": TEXT,
        "longer.txt": TEXT + "好\n",
        "shorter.txt": TEXT.partition("\n")[0] + "\n",
        "latin.txt": "In the beginning God\n",
        "long.txt": "".join(f"A sentence of number {number}.\n" for number in range(4000)),
        "empty": "",
        "damaged": "x" * 100,
        "c.tsv": "a b\t3\n",
        "folder/other": "",
        "folder/a.jsonl": '{"text": "a"}\n',
        "key.jsonl": '{"body": "美好的新世纪"}\n',
        "tables/ids.json": "",
        "tables/strokes.tsv": "好\tznshhs\n",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "bytes").write_bytes(b"ab\n\xff\xfe\n")
    (folder / "link.txt").symlink_to("good.txt")
    (folder / "same.txt").hardlink_to(folder / "good.txt")
    lower = Tokenizer(models.BPE({"a": 0}, []))
    lower.normalizer = normalizers.Lowercase()
    for name in ("lower", "BPE", "LM", "PATCHER"):
        (folder / name).mkdir()
    lower.save(str(folder / "lower/tokenizer.json"))
    tokenizer = train(byte_level(EXPRESSIONS["gpt2"]), ["abc abc"], 5)
    for place, saved in (("t.json", tokenizer), ("BPE/tokenizer.json", small_bases.byte_level())):
        saved.save(str(folder / place))
    small_bases.unigram().save(str(folder / "unigram.json"))
    Tokenizer(models.BPE()).save(str(folder / "nothing.json"))
    tiny_models.save_bert(folder / "BERT")
    tiny_models.save_bytes(folder / "BYTES")
    tiny_models.save_bytes(folder / "without", with_bos=False)
    save_entropy_patcher(folder / "PATCHER")
    save_language_model(language_model("space", folder / "LM"), folder / "LM")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        tokenlab_here("codes", "learn", "good.txt", "--code", "random", "-o", "code.json")
        tokenlab_here("codes", "learn", "good.txt", "--code", "byte", "-o", "byte.json")
        tokenlab_here("codes", "learn", "-", "--code", "stroke", "--tables", "tables", "-o", "stroke.json", stdin="好")
        tokenlab_here("statistics", "good.txt", "-o", "s.parquet")
        tokenlab_here("statistics", "good.txt", "-o", "s.csv")
        tokenlab_here("count", "good.txt", "-o", "c.parquet", "--cut", "gpt2")
        ended_here("entropy", "good.txt", "--model", "BERT", "-o", "e.parquet")
    return folder


@pytest.fixture
def folder(inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    return inputs


def complaint(folder, arguments):
    """The line of complaint of a command that must leave the folder as it is."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    said = tokenlab_here(*arguments, status=2)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    return said


@pytest.mark.parametrize("case", CASES.strip("\n").splitlines())
def test_bad_input_is_one_line_that_names_it(folder, case):
    command, _, words = case.rpartition(" -> ")
    said = complaint(folder, command.split())
    assert re.search(".*".join(map(re.escape, words.split(" ... "))), said), said


@pytest.mark.parametrize("name", ["nowhere", "bytes"])
@pytest.mark.parametrize("command", FILE_LAST.strip().splitlines())
def test_bad_files_are_named(folder, command, name):
    assert name in complaint(folder, [*command.split(), name])


def test_two_hyphens_as_the_value_of_an_option(capsys):
    parser = command_parser()
    found = [
        (command, flag)
        for command, of_command in parsers(parser)
        for action in of_command._actions
        for flag in action.option_strings
        if flag.startswith("--") and action.nargs != 0
    ]
    assert len(found) > 200
    for command, flag in found:
        with pytest.raises(SystemExit) as ended:
            parser.parse_args([*command, f"{flag}=--"])
        printed, said = capsys.readouterr()
        assert (ended.value.code, printed, said.count("\n")) == (2, "", 1)
        assert flag in said and "expected a value, not --" in said, said


def test_a_panic_of_the_library_is_one_line(folder, tmp_path):
    settings = json.loads((folder / "t.json").read_text())
    split = {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False}
    (tmp_path / "panics.json").write_text(json.dumps(settings | {"pre_tokenizer": split}))
    for workers in ("1", "2"):
        command = [*PROGRAM, "measure", "-", "--tokenizer", tmp_path / "panics.json", "--workers", workers]
        done = subprocess.run(command, input="a" * 40 + "b\n", capture_output=True, text=True)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and not done.stdout, done.stderr
        assert "panics.json: " in done.stderr and "Onig: Regex" in done.stderr
