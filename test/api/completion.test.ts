import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { shippedWords } from '../../src/cli/completion/shipped.js'
import { LabHome } from '../support/lab-home.js'
import { ROOT } from '../support/pages.js'

const run = promisify(execFile)

/** A home with two labs, one of them damaged, and the command on the PATH of a shell. */
const prepare = (home: LabHome): NodeJS.ProcessEnv => {
  const clusters = [{ name: 'A' }, { name: 'B' }]
  const record = { name: 'drill', state: 'running', owner: { pid: 1 }, keeper: {}, clusters }
  for (const [name, text] of [
    ['drill', JSON.stringify(record)],
    ['broken', '{"name":'],
  ] as const) {
    mkdirSync(path.join(home.labs, name), { recursive: true })
    writeFileSync(path.join(home.labs, name, 'lab.json'), text)
  }
  const bin = path.join(home.directory, 'bin')
  mkdirSync(bin)
  const command = path.join(bin, 'understudy')
  writeFileSync(command, `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'dist', 'main.js')}' "$@"\n`)
  chmodSync(command, 0o755)
  return { PATH: `${bin}:${process.env.PATH}`, HOME: home.directory, XDG_STATE_HOME: home.directory }
}

/** How each shell completes a line with the function of its completion script. */
const ASK = {
  bash: (words: readonly string[]) => `source <(understudy completion bash)
    COMP_WORDS=(understudy ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}
    complete -p understudy >/dev/null && _understudy && printf '%s\\n' "\${COMPREPLY[@]}"`,
  fish: (words: readonly string[]) => `understudy completion fish | source
    complete -C "understudy ${words.join(' ')}" | cut -f1`,
  zsh: (words: readonly string[]) => `autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
    source <(understudy completion zsh)
    [[ \${_comps[understudy]} = _understudy ]] || exit 9
    _describe() { print -l -- "\${(@P)2%%:*}" }
    _files() { : }
    words=(understudy ${words.map((word) => `'${word}'`).join(' ')}); CURRENT=${words.length + 1}; _understudy`,
} as const

const isThere = (shell: string): boolean => {
  try {
    execFileSync(shell, ['-c', 'true'])
    return true
  } catch {
    return false
  }
}

describe.each(Object.keys(ASK) as (keyof typeof ASK)[])('completion in %s', (shell) => {
  it.runIf(isThere(shell)).each([
    [['fault', 'la'], ['latency']],
    [['status', '--name', 'd'], ['drill']],
    [
      ['down', ''],
      ['broken', 'drill'],
    ],
    [['failover', '--name', 'drill', 'A', ''], ['B']],
    [['crash', '--name', 'broken', ''], []],
    [['vault', 'operator', 'gen'], ['generate-root']],
  ])('%j', async (words, offered) => {
    await using home = new LabHome()
    const env = prepare(home)
    const args = shell === 'bash' ? ['--norc'] : shell === 'zsh' ? ['-f'] : ['--no-config']
    const { stdout } = await run(shell, [...args, '-c', ASK[shell](words)], { env, cwd: home.labs })
    const lines = stdout.split('\n').filter((line) => line !== '')
    // If there is no completion, a shell may offer files.
    expect(lines.filter((line) => offered.length > 0 || !line.endsWith('/'))).toEqual(offered)
  })
})

it('the completion of a shell equals that of the program, from a file of the package', () => {
  const file = path.join(ROOT, 'dist', 'cli', 'completion', 'words.json')
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(shippedWords())))
})
