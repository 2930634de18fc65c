import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { UnderstudyContainer } from '../../src/testcontainers/index.js'
import { Installation } from '../support/installation.js'

/** The image that the installed package builds, without the files of the repository. */

const TAG = 'understudy-packed:test'
const run = promisify(execFile)

let installed: Installation
beforeAll(async () => {
  installed = await Installation.make()
})
afterAll(async () => {
  await run('docker', ['image', 'rm', '--force', TAG])
  await installed?.[Symbol.asyncDispose]()
})

it('the installed package builds an image in an empty directory, and its server becomes healthy', async () => {
  const cwd = path.join(installed.directory, 'empty')
  mkdirSync(cwd)
  const { stdout } = await run(path.join(installed.bin, 'understudy'), ['image', 'build', '--tag', TAG], { cwd })
  expect(stdout).toBe(`built the image ${TAG}\n`)
  const server = await new UnderstudyContainer(TAG).start()
  try {
    await server.client.write('secret/data/greeting', { data: { word: 'hello' } })
    expect((await server.client.read('secret/data/greeting')).data).toMatchObject({ data: { word: 'hello' } })
  } finally {
    await server.stop()
  }
  await expectSavedCode(TAG)
})

/** Saved code that a process rejects is replaced when the process ends. */
const expectSavedCode = async (image: string): Promise<void> => {
  const script = `
    list() { stat -c '%n %y' /opt/understudy/dist/bundle/cache/*; }
    list; understudy version >/dev/null
    understudy server -dev >/dev/null & server=$!
    until understudy-health; do kill -0 $server || exit 1; done
    kill $server; wait $server; list`
  const { stdout } = await run('docker', ['run', '--rm', '--entrypoint', 'sh', image, '-c', script])
  const lines = stdout.trim().split('\n')
  expect(lines.slice(0, 2)).toEqual([expect.stringContaining('/command.v8 '), expect.stringContaining('/server.v8 ')])
  expect(lines.slice(2)).toEqual(lines.slice(0, 2))
}
