import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { Program, runProgram, STARTED, Workplace } from '../support/program.js'

describe('a misspelt command of ours', () => {
  it.each([
    ['staus', 'status'],
    ['vualt', 'vault'],
    ['sever', 'server'],
    ['docter', 'doctor'],
  ])('understudy %s is asked about: %s', async (typed, meant) => {
    const { status, stdout, stderr } = await runProgram([typed])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toContain(`Did you mean ${meant}?`)
  })
})

describe('a server with address_file', () => {
  it('says in the file where it listens, for as long as it runs', async () => {
    using at = new Workplace()
    const file = at.path('addresses')
    const env = { UNDERSTUDY_ADDRESS_FILE: file }
    await using program = new Program(['server', '-dev', '-dev-listen-address=127.0.0.1:0'], { env })
    await program.untilPrinted(STARTED)
    await expect.poll(() => existsSync(file)).toBe(true)
    const address = readFileSync(file, 'utf8').trim()
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    const { status, stdout } = await runProgram(['healthcheck'], { env })
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${address} answers 200\n` })
    program.signal('SIGTERM')
    expect(await program.end()).toBe(0)
    expect(existsSync(file)).toBe(false)
  })

  it('starts where the file cannot be written, and says so in its log', async () => {
    using at = new Workplace()
    const env = { UNDERSTUDY_ADDRESS_FILE: path.join(at.write('no-directory', ''), 'addresses') }
    await using program = new Program(['server', '-dev', '-dev-listen-address=127.0.0.1:0'], { env })
    await program.untilPrinted('the addresses could not be written')
  })
})
