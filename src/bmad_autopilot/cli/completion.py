"""bmad completion: the script that makes a shell complete verbs, story keys and epics, for both our names."""

import click

SHELLS = ("bash", "zsh", "fish")
NAMES = ("bmad", "bmad-autopilot")

_HOW = """\
Print the shell's completion script.

\b
bash: eval "$(bmad completion bash)"   in ~/.bashrc
zsh:  eval "$(bmad completion zsh)"    in ~/.zshrc, after compinit
fish: bmad completion fish | source    in ~/.config/fish/config.fish
"""


@click.command(help=_HOW)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    for name in NAMES:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        script = kind(ctx.find_root().command, {}, name, variable)
        # The template itself: source() would start a bash to ask for its version.
        click.echo(script.source_template % script.source_vars())
