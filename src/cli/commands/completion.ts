import { Argument, Command } from 'commander'
import { SCRIPTS, type Shell } from './scripts.js'
import type { Output } from '../terminal/output.js'

/** `understudy completion bash`: prints a script that a shell loads once. The script then calls `__complete`. */
export const completionCommand = (output: Output): Command =>
  new Command('completion')
    .description('print a script that completes commands, options and names in a shell')
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .addHelpText(
      'after',
      '\nExamples:\n  source <(understudy completion bash)\n  understudy completion zsh > "$HOME/.zfunc/_understudy"\n' +
        '  understudy completion fish > "$HOME/.config/fish/completions/understudy.fish"',
    )
    .action((shell: Shell) => output.data(SCRIPTS[shell]))
