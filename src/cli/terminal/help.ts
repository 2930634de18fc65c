import type { Command } from 'commander'

/** The end of a command's help: what people type, at least two of it. */
export const examples = (first: string, second: string, ...more: readonly string[]): string =>
  `\nExamples:\n${[first, second, ...more].map((line) => `  understudy ${line}`).join('\n')}`

/** A command in a list of several: its flags stand in its own help, and 80 columns are enough for the rest. */
export const commandTerm = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')
