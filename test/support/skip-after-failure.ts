import { beforeEach } from 'vitest'

/** Declares that the tests of a file depend on each other. After the first failed test, the others are skipped. */
export const skipAfterFailure = (): void => {
  let failed = ''
  beforeEach(({ task, skip, onTestFailed }) => {
    if (failed !== '') skip(`skipped after the failure of: ${failed}`)
    onTestFailed(() => {
      failed = task.name
    })
  })
}
