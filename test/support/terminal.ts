import { spawnSync } from 'node:child_process'

/** The program that gives a command a terminal: `script` of util-linux, whose flags are not those of other systems. */
export const findScript = (): string | undefined =>
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ? 'script' : undefined
