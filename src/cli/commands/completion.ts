import { Argument, type Command } from 'commander'
import { TypedCommand } from '../terminal/command.js'
import type { Output } from '../terminal/output.js'

/** `understudy completion bash`: prints a script that a shell loads once. The script then calls `__complete`. */
export const completionCommand = (output: Output): Command =>
  new TypedCommand('completion')
    .description('print a completion script for a shell')
    .addArgument(new Argument('<shell>', 'shell that loads the script').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(understudy completion bash)\n  understudy completion zsh > "$HOME/.zfunc/_understudy"\n' +
        '  understudy completion fish > "$HOME/.config/fish/completions/understudy.fish"',
    )
    .action((shell: keyof typeof SCRIPTS) => output.data(SCRIPTS[shell]))

/** Scripts that a shell loads once. Each calls the program for candidates, so the names are current. */
const SCRIPTS = {
  bash: `# understudy: completion for bash
_understudy() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _understudy understudy`,
  zsh: `#compdef understudy
_understudy() {
  local line word
  local -a described
  while IFS= read -r line; do
    word=\${line%%$'\\t'*}
    described+=("\${word//:/\\\\:}:\${line#*$'\\t'}")
  done < <("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#described} )); then _describe understudy described; else _files; fi
}
if [ "$funcstack[1]" = _understudy ]; then _understudy "$@"; else compdef _understudy understudy; fi`,
  fish: `# understudy: completion for fish
function __understudy_complete
  set -l words (commandline -opc)
  set -l found ($words[1] __complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c understudy -f -a '(__understudy_complete)'`,
} as const
