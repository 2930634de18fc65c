import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } }
const [, needed = ''] = /^>=(\S+)$/.exec(engines.node) ?? []

const runAs = (version: string) => {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  const args = ['--import', 'tsx', '--import', `data:text/javascript,${encodeURIComponent(pretend)}`]
  return spawnSync(process.execPath, [...args, 'src/main.ts', '--version'], { encoding: 'utf8' })
}

it.each(['18.20.8', '20.11.1'])('Node %s exits with the minimum version', (version) => {
  const { status, stdout, stderr } = runAs(version)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr.trim()).toBe(`understudy requires Node ${needed} or newer, but this is Node ${version}`)
})

it('the minimum version of Node starts the program', () => {
  expect(runAs(`${needed}.0`)).toMatchObject({ status: 0, stderr: '' })
})
