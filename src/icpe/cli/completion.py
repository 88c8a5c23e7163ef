"""`icpe completion`: scripts that make a shell complete words."""

import dataclasses
from typing import Annotated, Literal

import tyro

from icpe.cli.options import Seed

SCRIPTS = {
    "bash": """\
# For this shell: source <(icpe completion bash); for all: put that line into ~/.bashrc
_icpe() {
    local word=${COMP_WORDS[COMP_CWORD]} line
    COMPREPLY=()
    while IFS= read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$line")
    done < <(icpe __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    compopt +o nospace 2>/dev/null
    [[ ${COMPREPLY[0]-} == *[.:] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _icpe icpe
""",
    "zsh": """\
#compdef icpe
# For this shell: source <(icpe completion zsh); for all: put that line into ~/.zshrc
_icpe() {
    local -a found
    found=("${(@f)$(icpe __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ${#found} )); then
        compadd -a found
    else
        _files
    fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _icpe icpe
""",
    "fish": """\
# For this shell: icpe completion fish | source
# For all: icpe completion fish > ~/.config/fish/completions/icpe.fish
function __icpe_complete
    set -l words (commandline -opc) (commandline -ct)
    icpe __complete $words[2..-1] 2>/dev/null
end
complete -c icpe -a "(__icpe_complete)"
""",
}


@dataclasses.dataclass(frozen=True)
class Args:
    """Print a script that makes a shell complete commands, options and names.

    The names are those of families, explorers and settings.
    """

    shell: Annotated[
        tyro.conf.Positional[Literal["bash", "zsh", "fish"]],
        tyro.conf.arg(metavar="bash|zsh|fish"),
    ]
    """Which shell."""
    seed: Seed = 0
    """Ignored here; accepted by every command."""


EXAMPLES = (
    "icpe completion bash",
    "icpe completion fish",
)


def run(args: Args) -> int:
    """Prints the script."""
    print(SCRIPTS[args.shell], end="")
    return 0
