import { Argument, Command } from 'commander'
import { complete } from '../completion/complete.js'
import { liveNames } from '../completion/names.js'
import { SCRIPTS, type Shell } from '../completion/scripts.js'
import type { Output } from '../output.js'

/** `understudy completion bash`: a script that a shell reads once, and that asks `__complete` from then on. */
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

/** `understudy __complete -- WORD...`: what may stand where the last word is, one a line, what it is about behind a tab. */
export const runComplete = async (program: Command, args: readonly string[], output: Output): Promise<void> => {
  const words = args[0] === '--' ? args.slice(1) : args
  const found = words[0] === 'vault' && words.length > 1 ? await vaultWords(words.slice(1)) : findOwn(program, words)
  const lines = found.map(({ word, about }) => (about === '' ? word : `${word}\t${about.split('\n')[0]}`))
  if (lines.length > 0) output.data(lines.join('\n'))
}

const findOwn = (program: Command, words: readonly string[]) => complete(program, words, liveNames)

const vaultWords = async (words: readonly string[]) => {
  const { COMMANDS } = await import('../vault/commands.js')
  const before = words.slice(0, -1)
  const next = [...COMMANDS.keys()]
    .map((name) => name.split(' '))
    .filter((name) => name.length > before.length && before.every((word, index) => word === name[index]))
    .map((name) => name[before.length] ?? '')
  return [...new Set(next)].filter((word) => word.startsWith(words.at(-1) ?? '')).map((word) => ({ word, about: '' }))
}
