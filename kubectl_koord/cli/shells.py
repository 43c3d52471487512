"""Completion scripts for bash, zsh and fish, and where a user's shell looks for them.

The scripts hold no verb and no flag: they ask `kubectl-koord __complete`, so they stay current with the program.
They are for `kubectl-koord` typed with the dash; for `kubectl koord` the shell asks kubectl, and kubectl asks
`kubectl_complete-koord`.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from kubectl_koord.cli.command_line import SHELLS
from kubectl_koord.errors import KoordError

PROGRAM = "kubectl-koord"
FOR_KUBECTL = "kubectl_complete-koord"
_MARK = "kubectl koord completion"

_BASH = r"""# Completion of kubectl-koord for bash, as kubectl koord completion bash prints it.
_kubectl_koord() {
    local line=${COMP_LINE:0:COMP_POINT} words=() candidate directive=:0 typed before
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    COMPREPLY=()
    while IFS= read -r candidate; do
        case $candidate in
        :[0-9]*) directive=$candidate ;;
        ?*) COMPREPLY+=("${candidate%%$'\t'*}") ;;
        esac
    done < <(kubectl-koord __complete "${words[@]:1}" 2>/dev/null)
    # readline replaces only what stands behind the last colon
    typed=${words[${#words[@]} - 1]}
    [[ $typed == -*=* ]] && typed=${typed#*=}
    if [[ $typed == *:* && $COMP_WORDBREAKS == *:* ]]; then
        before=${typed%"${typed##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$before"}")
    fi
    case $directive in
    :0) compopt -o default 2>/dev/null ;;
    :16) compopt -o dirnames 2>/dev/null ;;
    esac
    return 0
}
complete -F _kubectl_koord kubectl-koord
"""

_ZSH = r"""#compdef kubectl-koord
# Completion of kubectl-koord for zsh, as kubectl koord completion zsh prints it.
_kubectl-koord() {
    local line name directive=:0
    local -a candidates typed
    typed=("${(@Q)words[2,CURRENT]}")
    (( CURRENT > $#words )) && typed+=("")
    while IFS= read -r line; do
        case $line in
        :[0-9]*) directive=$line ;;
        ?*)
            name=${line%%$'\t'*}
            if [[ $line == *$'\t'* ]]; then
                candidates+=("${name//:/\\:}:${line#*$'\t'}")
            else
                candidates+=("${name//:/\\:}")
            fi
            ;;
        esac
    done < <(kubectl-koord __complete "${typed[@]}" 2>/dev/null)
    [[ ${words[CURRENT]} == -*=* ]] && compset -P 1 '*='
    case $directive in
    :0) _files ;;
    :16) _files -/ ;;
    *) _describe -V kubectl-koord candidates ;;
    esac
}
if [[ ${funcstack[1]} == _kubectl-koord ]]; then
    _kubectl-koord "$@"
else
    compdef _kubectl-koord kubectl-koord
fi
"""

_FISH = r"""# Completion of kubectl-koord for fish, as kubectl koord completion fish prints it.
function __kubectl_koord_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l found (kubectl-koord __complete $typed[2..-1] "$word" 2>/dev/null)
    set -l before (string match -r -- '^-[^=]*=' "$word")
    set -l value (string replace -r -- '^-[^=]*=' '' "$word")
    switch "$found[-1]"
        case :0
            __fish_complete_path "$value" | string replace -r '^' -- "$before"
        case :16
            __fish_complete_directories "$value" | string replace -r '^' -- "$before"
        case '*'
            for candidate in $found[1..-2]
                printf '%s%s\n' "$before" $candidate
            end
    end
end
complete -c kubectl-koord -f -k -a '(__kubectl_koord_complete)'
"""

_KUBECTL = """#!/bin/sh
# Completion of kubectl koord for kubectl, as kubectl koord completion install writes it.
exec kubectl-koord __complete "$@"
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "kubectl": _KUBECTL}


class Installed(Struct, frozen=True):
    """A script that was written, or was there already; what to do for it to work, if anything."""

    path: Path
    is_new: bool
    hint: str = ""


def script(shell: str) -> str:
    """Return the completion script of a shell."""
    return _SCRIPTS[shell]


def current(environment: Mapping[str, str]) -> str:
    """Return the user's login shell. Raises KoordError when it is none of those that we have a script for."""
    shell = Path(environment.get("SHELL", "")).name
    if shell not in SHELLS:
        raise KoordError(f"error: the shell cannot be told from SHELL={shell!r}: name bash, zsh or fish")
    return shell


def install(shell: str, environment: Mapping[str, str], home: Path) -> Iterator[Installed]:
    """Write the script where the user's shell finds it, and what kubectl asks beside the program, unless it is found.

    Each is yielded once it is there. Raises KoordError when a file is in the way that is not ours, or cannot be
    written.
    """
    path, hint = _place(shell, environment, home)
    yield _write(path, _SCRIPTS[shell], hint)
    program = shutil.which(PROGRAM, path=environment.get("PATH"))
    if program and not shutil.which(FOR_KUBECTL, path=environment.get("PATH")):
        yield _write(Path(program).with_name(FOR_KUBECTL), _KUBECTL, mode=0o755)


def _place(shell: str, environment: Mapping[str, str], home: Path) -> tuple[Path, str]:
    """Return the file, and what the user has to do besides."""
    if shell == "bash":
        data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
        folder = Path(environment.get("BASH_COMPLETION_USER_DIR") or data / "bash-completion")
        return folder / "completions" / PROGRAM, "it needs the package bash-completion"
    if shell == "zsh":
        folder = Path(environment.get("ZDOTDIR") or home) / ".zfunc"
        return folder / f"_{PROGRAM}", f"~/.zshrc needs, before compinit: fpath=({folder} $fpath)"
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish" / "completions" / f"{PROGRAM}.fish", ""


def _write(path: Path, text: str, hint: str = "", mode: int = 0o644) -> Installed:
    """Write a file whole or not at all; a link is somebody else's, wherever it leads."""
    try:
        if os.path.lexists(path):
            there = "" if path.is_symlink() else path.read_text("utf-8", "replace")
            if there == text:
                return Installed(path, is_new=False, hint=hint)
            if _MARK not in there:
                raise KoordError(f"error: {path} exists and is not ours: nothing was written there")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            part.write_text(text, "utf-8")
            part.chmod(mode)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as problem:
        raise KoordError(f"error: unable to write {path}: {problem.strerror}") from None
    return Installed(path, is_new=True, hint=hint)
