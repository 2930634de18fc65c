/** Records an event and its duration in milliseconds. `name` is the name of a metric. */
export interface Recorder {
  record(name: string, ms: number): void
}

export const silentRecorder: Recorder = { record() {} }
