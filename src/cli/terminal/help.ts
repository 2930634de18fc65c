import type { Command } from 'commander'

/** Returns the examples at the end of a command's help, at least two. */
export const examples = (first: string, second: string, ...more: readonly string[]): string =>
  `\nExamples:\n${[first, second, ...more].map((line) => `  understudy ${line}`).join('\n')}`

/**
 * Returns a command's entry in a list. Flags are omitted, because they are in its own help and the list must fit 80
 * columns.
 */
export const commandTerm = (command: Command): string =>
  [
    command.name(),
    ...command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    }),
  ].join(' ')
