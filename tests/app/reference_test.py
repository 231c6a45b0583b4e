"""--help by groups, and what is written from it: manual pages, and completions that know every command and option."""

import re
import shutil
import subprocess

import pytest

from program import PROGRAM, run

HELP = run("--help").out
COMMANDS = re.findall(r"^  ([a-z]+) {2,}\S", HELP.split("Try:")[0], re.MULTILINE)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    done = run("reference", str(folder))
    assert (done.code, done.out, done.err) == (0, "", "")
    return folder


def options_of(command):
    """The names of its options as its help lists them."""
    text = run(*command, "--help").out.split("\nOptions:\n")[1].split("\n\n")[0]
    found = set()
    for entry in re.findall(r"^ {2,6}(-.*?)(?: {2,}|$)", text, re.MULTILINE):
        found |= set(re.findall(r"(?:^|, )(--?[\w-]+)", entry))
    assert "--help" in found
    return found


def completed(reference, *words):
    script = f'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _attend; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", script, "-", reference / "bash-completion/completions/attend", "attend", *words], capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_without_a_command_it_helps():
    done = run()
    assert (done.code, done.out, done.err) == (0, HELP, "")
    assert run("--color", "never").out == HELP


def test_commands_are_grouped_by_what_people_want():
    assert len(COMMANDS) >= 16 and "reference" not in COMMANDS
    groups = re.findall(r"^(\w.*):\n  [a-z]+ {2,}", HELP, re.MULTILINE)
    assert groups[0] == "See what attention does" and groups[-1] == "Models and this machine"
    assert "Subcommands" not in groups  # where a command would be that nobody put into a group
    assert 'there is no command "nonsense"; the commands are: explain, ' in run("nonsense").err and "reference" not in run("nonsense").err


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_fits_the_terminal(columns):
    for command in [[], *([name] for name in COMMANDS)]:
        text = run(*command, "--help", env={"COLUMNS": str(columns)}).out
        examples = text.index("Try:") if "Try:" in text else len(text)
        for line in text[:examples].splitlines():
            assert len(line) <= min(columns, 96) or "  " not in line.strip(), (command, line)
        assert not re.search(r"\{false\}|:\{|POSITIVE|\[text\]", text), command


def test_a_mistyped_name_is_told():
    assert run("expain").err.splitlines()[0] == 'attend: there is no command "expain"; did you mean explain?'
    assert run("explain", "--foucs", "it").err.splitlines()[0] == "attend explain: there is no option --foucs; did you mean --focus?"
    assert run("explain", "--foucs=it").err.splitlines()[0] == "attend explain: there is no option --foucs=it; did you mean --focus?"
    assert run("explain", "--nonsense").err.splitlines()[0] == "attend explain: there is no option --nonsense"


def test_every_command_has_a_manual_page_with_its_options(reference):
    main = (reference / "man/man1/attend.1").read_text()
    assert main.startswith('.\\" Written') and "\n.SH NAME\nattend \\- Self" in main
    for command in COMMANDS:
        assert f"\n\\fB{command}\\fR\n" in main and f".BR attend\\-{command} (1)" in main
        page = (reference / f"man/man1/attend-{command}.1").read_text()
        for name in options_of([command]):
            assert "\\fB" + name.replace("-", "\\-") + "\\fR" in page, (command, name)
    assert {path.name for path in (reference / "man/man1").iterdir()} == {"attend.1"} | {f"attend-{command}.1" for command in COMMANDS}


@pytest.mark.skipif(not shutil.which("man"), reason="man is not installed")
def test_manual_pages_are_formatted_without_a_warning(reference):
    for page in sorted((reference / "man/man1").iterdir()):
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page], capture_output=True, text=True, env={"MANWIDTH": "80", "PATH": "/usr/bin:/bin"})
        assert (done.returncode, done.stderr) == (0, ""), page
        assert "NAME" in done.stdout and not re.search(r"\\[-ef&]|^\s*\.(TP|SH|B|PP)", done.stdout, re.MULTILINE), page


def test_bash_completes_commands_options_and_values(reference):
    assert completed(reference, "") == set(COMMANDS) and completed(reference, "ex") == {"explain", "explore"}
    assert completed(reference, "-") == options_of([])
    for command in COMMANDS:
        assert completed(reference, command, "-") == options_of([command]), command
    assert completed(reference, "embed", "--on-overflow", "") == completed(reference, "embed", "--on-overflow", "=") == {"truncate", "error", "split"}
    assert completed(reference, "embed", "--on-overflow", "=", "s") == {"split"}
    assert completed(reference, "--color", "") == completed(reference, "steps", "--color", "=") == {"auto", "always", "never"}
    assert completed(reference, "embed", "texts") == set()  # which leaves it to bash, for files


def test_zsh_and_fish_know_the_same(reference):
    zsh = (reference / "zsh/site-functions/_attend").read_text()
    fish = (reference / "fish/vendor_completions.d/attend.fish").read_text()
    assert zsh.startswith("#compdef attend\n")
    for command in COMMANDS:
        (case,) = re.findall(rf"^    {command}\)\n(.*?)\n      ;;", zsh, re.DOTALL | re.MULTILINE)
        lines = [line for line in fish.splitlines() if line.startswith(f"complete -c attend -n '__fish_seen_subcommand_from {command}' ")]
        assert f"'{command}:" in zsh and f" -f -a {command} " in fish
        for name in options_of([command]):
            assert re.search(rf"^      '\*{name}[=+]?\[", case, re.MULTILINE), (command, name)
            assert any(f" -{'l' if name.startswith('--') else 's'} {name.lstrip('-')} " in line for line in lines), (command, name)
        if "--color" in options_of([command]):
            assert "WHEN:(auto always never)" in case and any("-l color -x -a 'auto always never'" in line for line in lines), command


@pytest.mark.parametrize("shell, file", [("zsh", "zsh/site-functions/_attend"), ("fish", "fish/vendor_completions.d/attend.fish")])
def test_the_shells_can_read_them(reference, shell, file):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", reference / file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    if shell == "fish":
        script = f"source {reference / file}; complete -C 'attend embed --on-overflow '"
        done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True)
        assert {line.split("\t")[0] for line in done.stdout.splitlines()} == {"truncate", "error", "split"}
    else:
        # zsh completes nothing without a terminal: the functions it calls say what they were told.
        script = "_arguments() { state=rest; print -l -- \"$@\"; }; _describe() { :; }; words=(embed); typeset -A opt_args; source $0"
        done = subprocess.run(["zsh", "-f", "-c", script, reference / file], capture_output=True, text=True)
        assert "(error split truncate)" in done.stdout or "(truncate error split)" in done.stdout
