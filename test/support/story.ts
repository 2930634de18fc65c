import { beforeEach } from 'vitest'

/** Tests of the file tell one story. It ends where one of them fails: the rest would wait for what cannot come any more. */
export const tellOneStory = (): void => {
  let failed = ''
  beforeEach(({ task, skip, onTestFailed }) => {
    if (failed !== '') skip(`the story ended at: ${failed}`)
    onTestFailed(() => {
      failed = task.name
    })
  })
}
