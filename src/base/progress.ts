import { channel } from 'node:diagnostics_channel'

/** A condition that an operation waits for. */
export interface Wait {
  readonly what: string
  /** The condition that is still false; empty before the first check. */
  missing: string
}

/** A step of a long operation. */
export interface Step {
  readonly title: string
  /** What the step does at present, such as the last line of a program's output. */
  detail: string
  /** What was done. Undefined while the step runs, and if it failed. */
  result: string | undefined
}

type ProgressEvent =
  | { readonly on: 'wait-begins' | 'wait-ends'; readonly wait: Wait }
  | { readonly on: 'step-begins' | 'step-ends'; readonly step: Step }
  | { readonly on: 'note'; readonly text: string }

const PROGRESS = channel('understudy.progress')

const publish = (event: ProgressEvent): void => PROGRESS.publish(event)

/** Runs long work and reports to listeners what it waits for. Stores nothing without listeners. */
export const whileWaiting = async <T>(what: string, work: (wait: Wait) => Promise<T>): Promise<T> => {
  const wait: Wait = { what, missing: '' }
  publish({ on: 'wait-begins', wait })
  try {
    return await work(wait)
  } finally {
    publish({ on: 'wait-ends', wait })
  }
}

/**
 * Runs a step of a long operation and reports it to listeners. `title` is in the imperative. `result` is what was done,
 * or returns it. If it is empty, the caller reports the result itself.
 */
export const inStep = async <T>(
  title: string,
  work: (step: Step) => Promise<T>,
  result: string | ((value: T) => string),
): Promise<T> => {
  const step: Step = { title, detail: '', result: undefined }
  publish({ on: 'step-begins', step })
  try {
    const value = await work(step)
    step.result = typeof result === 'string' ? result : result(value)
    return value
  } finally {
    publish({ on: 'step-ends', step })
  }
}

/** Reports a fact to listeners that the user of a long operation must know. */
export const note = (text: string): void => publish({ on: 'note', text })

/** Calls `listen` for the progress of this process, until it is disposed. */
export const listenToProgress = (listen: (event: ProgressEvent) => void): Disposable => {
  const onEvent = (event: unknown) => listen(event as ProgressEvent)
  PROGRESS.subscribe(onEvent)
  return { [Symbol.dispose]: () => void PROGRESS.unsubscribe(onEvent) }
}
