/** Counts events, and records their durations in milliseconds. Names are metric names. */
export interface Recorder {
  record(name: string, ms: number): void
}

export const silentRecorder: Recorder = { record() {} }
