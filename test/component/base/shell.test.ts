import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { SHELLS, type Shell, setVariable, shellComment, shellWord, quotedWord } from '../../../src/base/shell.js'

const HOSTILE = [
  'plain-1.2_3:4/5',
  '',
  'two words',
  "it's",
  `;touch\${IFS}x`,
  '$(id)`id`$HOME',
  '"double" \\ back\\',
  '~',
  '=ls',
  '-n',
  '*?[a]{b,c}',
  '!!',
  '#x',
  '&& exit 7 || (x) > y < z',
  'line\nbreak\ttab',
  '\u2018curly\u2019',
]

const isThere = (shell: string) => spawnSync(shell, ['-c', 'true']).status === 0

const run = (shell: string, script: string): string =>
  spawnSync(shell, ['-c', script], { encoding: 'utf8', env: { PATH: process.env.PATH } }).stdout

it.each([
  ['sh', 'bash'],
  ['bash', 'bash'],
  ['zsh', 'bash'],
  ['fish', 'fish'],
] as const)('%s reads every quoted hostile text as one word', (shell, dialect) => {
  if (!isThere(shell)) return
  for (const text of HOSTILE) {
    const quoted = dialect === 'bash' ? quotedWord(text) : shellWord(text, dialect)
    expect(run(shell, `printf '%s|%s|' ${shellWord(text, dialect)} ${quoted}`)).toBe(`${text}|${text}|`)
    const lines = [setVariable('X_Y', text, dialect), shellComment(`x\n${text}`, dialect), 'printf "%s|" "$X_Y"']
    expect(run(shell, lines.join('\n'))).toBe(`${text}|`)
  }
  expect(run(shell, [setVariable('PATH', undefined, dialect), 'echo "$PATH."'].join('\n'))).toBe('.\n')
})

it('setVariable quotes values for powershell and cmd', () => {
  expect(setVariable('V', "it's $x \u2019", 'powershell')).toBe("$env:V = 'it''s $x \u2019\u2019'")
  expect(setVariable('V', 'a & b | c', 'cmd')).toBe('set "V=a & b | c"')
  expect(setVariable('V', undefined, 'powershell')).toBe('Remove-Item Env:V -ErrorAction SilentlyContinue')
  expect(setVariable('V', undefined, 'cmd')).toBe('set "V="')
})

it.each(['"', '%PATH%', '!x!', '\n'])('setVariable rejects a value with %j for cmd', (text) => {
  expect(() => setVariable('V', text, 'cmd')).toThrow('cmd cannot represent a value with')
})

it.each<Shell>([...SHELLS])('shellComment is one line for %s', (shell) => {
  expect(shellComment('a\nb\r\u2028c & d', shell)).not.toMatch(/[\n\r\u2028]/)
})
