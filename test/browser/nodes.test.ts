import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LabPage } from '../support/lab-page.js'
import { skipAfterFailure } from '../support/skip-after-failure.js'

/** A cluster with several nodes on the lab page in a real browser. The tests depend on each other. */

let lab: LabPage

skipAfterFailure()
beforeAll(async () => {
  lab = await LabPage.open('single', '--nodes', '3')
})
afterAll(async () => {
  await lab?.[Symbol.asyncDispose]()
})

const node = (name: string, look: string) => lab.see(`[data-node="${name}"].${look}`)
const inTable = (name: string, word: string) =>
  lab.see(`.facts-table tr:has(th:text-is("${name}")) td:text-is("${word}")`)
const activeName = async () => String(await lab.page.locator('.node.active').getAttribute('data-node'))
const otherActiveName = async (name: string) => {
  await lab.see(`.node.active:not([data-node="${name}"])`)
  return activeName()
}
const isClosed = () => lab.page.waitForSelector('dialog', { state: 'detached' })
const work = (state: string, text: string) => lab.see(`.works > .work:first-of-type.${state}:has-text("${text}")`)

describe('a cluster of several nodes', () => {
  it('the lab page shows the nodes of a cluster and which node is active', async () => {
    await node('A1', 'active')
    await node('A2', 'plain')
    await node('A3', 'plain')
    await lab.see('.verdict.well')
    await inTable('A1', 'active')
    await inTable('A2', 'performance standby')
    await lab.saveScreenshots('nodes')
    await lab.expectNoBarrier()
  })

  it('the lab page shows that another node takes over after a crash of the active node', async () => {
    await lab.ask(/node A1 active/)
    await lab.press('Crash …')
    await lab.see('.plan code:has-text("understudy crash A1")')
    await lab.press('Crash')
    await isClosed()
    await node('A1', 'away')
    await inTable('A1', 'crashed')
    await otherActiveName('A1')
    await lab.see('[data-cluster="A"]:not(.away)')
    await lab.see('.verdict.bad:has-text("A has a node A1 that has crashed")')
    await lab.saveScreenshots('nodes-lost')
    await lab.expectNoBarrier()
    await lab.ask(/node A1 crashed/)
    await lab.press('Start')
    await work('done', 'node A1 is ready')
    await node('A1', 'plain')
    await lab.see('.verdict.well')
  })

  it('the lab page lets the active node step down', async () => {
    const before = await activeName()
    await lab.ask(new RegExp(`node ${before} active`))
    await lab.press('Step down …')
    await lab.see('.plan li:has-text("sys/step-down")')
    await lab.press('Step down')
    await isClosed()
    await work('done', 'steps down')
    expect(await otherActiveName(before)).not.toBe(before)
    await node(before, 'plain')
  })

  it('the lab page shows which node is sealed, and unseals it', async () => {
    const active = await activeName()
    const standby = active === 'A2' ? 'A3' : 'A2'
    await lab.ask(new RegExp(`node ${standby} performance standby`))
    await lab.press('Seal …')
    await lab.press('Seal')
    await isClosed()
    await inTable(standby, 'sealed')
    await lab.ask(new RegExp(`node ${standby} sealed`))
    await lab.press('Unseal')
    await isClosed()
    await inTable(standby, 'performance standby')
  })

  it('the lab page shows which nodes are cut from each other', async () => {
    await lab.run('fault', 'partition', 'A1', 'A2')
    for (const name of ['A1', 'A2']) await lab.see(`[data-node="${name}"] strong:text-is("✂ cut")`)
    expect(await lab.page.locator('[data-node="A3"] strong').count()).toBe(0)
    await lab.see('.facts-table tr:has(th:text-is("A2")) td:has-text("A1 <-> A2, partition")')
    await lab.saveScreenshots('nodes-cut')
    await lab.run('heal', '--all')
    await lab.page.waitForSelector('.node strong', { state: 'detached' })
  })

  it('the page inside a cluster uses the active node', async () => {
    const active = await activeName()
    await lab.run('stop', active)
    await otherActiveName(active)
    await lab.page.getByRole('link', { name: 'Cluster A', exact: true }).click()
    await lab.see('.login')
    await lab.page.getByRole('link', { name: 'All clusters', exact: true }).click()
    await lab.run('start', active)
    await lab.see('.verdict.well')
  })

  it('the page of a cluster with nodes causes no error in the browser console', () => {
    expect(lab.errors).toEqual([])
  })
})
