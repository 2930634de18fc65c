import { stat } from 'node:fs/promises'
import bcrypt from 'bcrypt'
import { afterEach, describe, expect, it } from 'vitest'
import { PasswordWorker } from '../../../../src/auth/userpass/password-worker.js'

/** A hash slow enough to be in progress while the disk is used. */
const SLOW = `$2b$13$${'a'.repeat(22)}`
const QUICK = `$2b$04$${'a'.repeat(22)}`

const ANNA = { source: '10.0.0.1', name: 'anna' }

describe('the thread for passwords', () => {
  let worker = new PasswordWorker()
  afterEach(async () => {
    await worker.close()
    worker = new PasswordWorker()
  })

  it('the password worker hashes and compares like bcrypt', async () => {
    const hash = await worker.hash('secret', QUICK)
    expect(await bcrypt.compare('secret', hash)).toBe(true)
    expect(await worker.isMatch('secret', hash, ANNA)).toBe(true)
    expect(await worker.isMatch('other', hash, ANNA)).toBe(false)
  })

  it('the password worker does not use the threads for disk access', async () => {
    let done = 0
    const all = Promise.allSettled(Array.from({ length: 8 }, () => worker.hash('secret', SLOW).then(() => done++)))
    await stat('.')
    expect(done).toBeLessThan(2)
    await worker.close()
    await all
  })

  it('the password worker queues a limited number of tasks and answers 503 to more', async () => {
    worker = new PasswordWorker(2)
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => worker.hash('secret', QUICK)))
    // The first job is running, and the oldest waiting ones are evicted.
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled', 'fulfilled'])
    expect(results[1]).toMatchObject({ reason: { code: 'unavailable' } })
  })

  it('the password worker hashes forty passwords that callers with a token send at once', async () => {
    const results = await Promise.allSettled(Array.from({ length: 40 }, () => worker.hash('secret', QUICK)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(40)
  })

  it('the password worker serves other clients between forty passwords of one client', async () => {
    for (const nameOf of [(index: number) => `user${index}`, () => 'root']) {
      const served: string[] = []
      const note = (who: string) => () => void served.push(who)
      const flood = Array.from({ length: 40 }, (_, index) =>
        worker.isMatch('x', SLOW, { source: '10.0.0.66', name: nameOf(index) }).then(note('flood'), () => undefined),
      )
      await worker.isMatch('good', QUICK, ANNA).then(note('good'))
      expect(served.length).toBeLessThanOrEqual(3)
      await worker.close()
      await Promise.all(flood)
      worker = new PasswordWorker()
    }
  })

  it('the password worker limits the queue of one address, so that others get their turn', async () => {
    const done: number[] = []
    const flood = Array.from({ length: 40 }, (_, index) =>
      worker.isMatch('x', QUICK, { source: '10.0.0.1', name: `user${index}` }).then(
        () => void done.push(index),
        () => undefined,
      ),
    )
    await worker.isMatch('good', QUICK, { source: '10.0.0.1', name: 'anna' })
    expect(done.length).toBeLessThanOrEqual(33)
    await Promise.all(flood)
  })

  it('the password worker continues after a failed task', async () => {
    await expect(worker.hash('secret', 'no salt')).rejects.toThrow('salt')
    expect(await worker.isMatch('secret', await worker.hash('secret', QUICK), ANNA)).toBe(true)
  })

  it('a closed password worker rejects waiting and new tasks', async () => {
    const waiting = [worker.hash('secret', SLOW), worker.hash('secret', SLOW)].map((job) =>
      expect(job).rejects.toThrow(),
    )
    await worker.close()
    await Promise.all(waiting)
    await expect(worker.hash('secret', QUICK)).rejects.toMatchObject({ code: 'unavailable' })
  })
})
